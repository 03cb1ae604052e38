package image

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/berth-run/berth/oci"
)

// userName is the shard's user.
const userName = "berth"

// mountPoint is a directory that a shard mounts tmpfs on, or that its services expect.
type mountPoint struct {
	path string
	mode int64
	// owned by the shard's user rather than root.
	owned bool
}

var mountPoints = []mountPoint{
	{"dev", 0o755, false},
	{"home", 0o755, false},
	{"home/" + userName, 0o700, true},
	{"proc", 0o555, false},
	{"run", 0o755, false},
	{"run/berth", 0o700, true},
	{"run/user", 0o755, false},
	{"run/user/" + strconv.Itoa(oci.UID), 0o700, true},
	{"sys", 0o555, false},
	{"tmp", 0o1777, false},
	{"tmp/.X11-unix", 0o1777, false},
	{"var/tmp", 0o1777, false},
}

// emptyFiles are there for the engine to mount over; an empty machine-id is nobody's.
var emptyFiles = []string{"etc/hostname", "etc/hosts", "etc/machine-id", "etc/resolv.conf"}

// identityLayer gives the layers below it the user berth and the directories of a shard.
func identityLayer(below []v1.Layer, epoch int64) (*layer, error) {
	accounts, err := readAccounts(below)
	if err != nil {
		return nil, err
	}
	return memoryLayer(epoch, func(w *layerWriter) error {
		for _, name := range []string{passwdFile, groupFile} {
			if err := w.file(name, 0o644, int64(len(accounts[name])), bytes.NewReader(accounts[name])); err != nil {
				return err
			}
		}
		for _, name := range emptyFiles {
			if err := w.file(name, 0o644, 0, nil); err != nil {
				return err
			}
		}
		return writeMountPoints(w)
	})
}

func writeMountPoints(w *layerWriter) error {
	for _, m := range mountPoints {
		uid, gid := 0, 0
		if m.owned {
			uid, gid = oci.UID, oci.GID
		}
		if err := w.dir(m.path, m.mode, uid, gid); err != nil {
			return err
		}
	}
	return nil
}

const (
	passwdFile = "etc/passwd"
	groupFile  = "etc/group"
)

// readAccounts gives passwd and group as the layers have them, with the user in them.
func readAccounts(below []v1.Layer) (map[string][]byte, error) {
	found := map[string][]byte{}
	for i := len(below) - 1; i >= 0 && len(found) < 2; i-- {
		if err := findFiles(below[i], found, passwdFile, groupFile); err != nil {
			return nil, err
		}
	}
	id := []string{strconv.Itoa(oci.UID), strconv.Itoa(oci.GID)}
	return map[string][]byte{
		passwdFile: withAccount(found[passwdFile], userName, id[0], fmt.Sprintf("%s:x:%s:%s::%s:/bin/sh", userName, id[0], id[1], oci.Home)),
		groupFile:  withAccount(found[groupFile], userName, id[1], fmt.Sprintf("%s:x:%s:", userName, id[1])),
	}, nil
}

// withAccount puts line into a file of accounts, instead of whoever had its name or id.
func withAccount(file []byte, name, id, line string) []byte {
	var out []byte
	for l := range strings.Lines(string(file)) {
		f := strings.Split(strings.TrimSpace(l), ":")
		if f[0] == name || len(f) > 2 && f[2] == id {
			continue
		}
		out = append(out, strings.TrimSuffix(l, "\n")+"\n"...)
	}
	return append(out, line+"\n"...)
}

// maxAccounts bounds a passwd file, in bytes.
const maxAccounts = 1 << 20

// findFiles adds the contents of a layer's files to found, unless a layer above had them.
func findFiles(l v1.Layer, found map[string][]byte, names ...string) error {
	r, err := l.Uncompressed()
	if err != nil {
		return err
	}
	defer r.Close()
	in := map[string][]byte{}
	for tr := tar.NewReader(r); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("%w: a layer: %w", ErrBase, err)
		}
		for _, n := range names {
			if path.Clean(h.Name) == n && h.Typeflag == tar.TypeReg {
				if in[n], err = io.ReadAll(io.LimitReader(tr, maxAccounts)); err != nil {
					return err
				}
			}
		}
	}
	for n, b := range in {
		if _, above := found[n]; !above {
			found[n] = b
		}
	}
	return nil
}
