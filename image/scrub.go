package image

import (
	"archive/tar"
	"bytes"
	"io"
	"slices"
	"strings"
)

const dpkgStatus = "var/lib/dpkg/status"

// unwantedFiles are the build machine's, or what each build would write anew. The engine mounts its
// own hosts, hostname and resolv.conf over the empty ones of the identity layer.
var unwantedFiles = map[string]bool{
	"etc/apt/apt.conf.d/99mmdebstrap":  true,
	"etc/apt/sources.list":             true,
	"etc/dpkg/dpkg.cfg.d/99mmdebstrap": true,
	"etc/group-":                       true,
	"etc/gshadow-":                     true,
	"etc/hostname":                     true,
	"etc/hosts":                        true,
	"etc/machine-id":                   true,
	"etc/passwd-":                      true,
	"etc/resolv.conf":                  true,
	"etc/shadow-":                      true,
	"var/lib/dbus/machine-id":          true,
	"var/lib/dpkg/available-old":       true,
	"var/lib/dpkg/status-old":          true,
	"var/lib/systemd/random-seed":      true,
}

// unwantedBelow are folders that stay, without what is below.
var unwantedBelow = []string{
	"dev/", "proc/", "run/", "sys/", "tmp/",
	"usr/share/info/", "usr/share/locale/", "usr/share/man/",
	"var/cache/", "var/lib/apt/lists/", "var/log/", "var/tmp/",
}

// fontCache is what cacheFonts made.
const fontCache = "var/cache/fontconfig/"

// scrub copies a root file system's tar from r to w without what differs between machines and
// builds or has no use in a shard, and returns the packages in it.
func scrub(r io.Reader, w io.Writer, epoch int64) ([]string, error) {
	in, out := tar.NewReader(r), newLayerWriter(w, epoch)
	var status bytes.Buffer
	for {
		h, err := in.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		h.Name = strings.TrimPrefix(h.Name, "./")
		h.Linkname = trimHardlink(h)
		if h.Name == "" || unwanted(h) {
			continue
		}
		var body io.Reader = in
		if h.Name == dpkgStatus {
			body = io.TeeReader(in, &status)
		}
		if err := out.add(h, body); err != nil {
			return nil, err
		}
	}
	// mmdebstrap ends what it writes only when its tar has; the rest is padding.
	if _, err := io.Copy(io.Discard, r); err != nil {
		return nil, err
	}
	return parseDpkgStatus(status.String()), out.close()
}

func trimHardlink(h *tar.Header) string {
	if h.Typeflag == tar.TypeLink {
		return strings.TrimPrefix(h.Linkname, "./")
	}
	return h.Linkname
}

// unwanted tells what to leave out of a root file system.
func unwanted(h *tar.Header) bool {
	if unwantedFiles[h.Name] {
		return true
	}
	if strings.HasPrefix(h.Name, "usr/share/doc/") && h.Typeflag != tar.TypeDir {
		return !strings.HasSuffix(h.Name, "/copyright")
	}
	if strings.HasPrefix(h.Name, fontCache) {
		return false
	}
	return slices.ContainsFunc(unwantedBelow, func(dir string) bool {
		return strings.HasPrefix(h.Name, dir) && h.Name != dir
	})
}

// parseDpkgStatus lists the installed packages of a dpkg status file as name=version, sorted.
func parseDpkgStatus(text string) []string {
	var all []string
	for _, st := range deb822Stanzas(text) {
		if strings.HasSuffix(st["status"], " installed") {
			all = append(all, st["package"]+"="+st["version"])
		}
	}
	slices.Sort(all)
	return all
}
