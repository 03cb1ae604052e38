package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// file is an entry of a tar in a test: a regular file unless Typeflag says otherwise.
type file struct {
	tar.Header
	data string
}

func tarOf(t testing.TB, files ...file) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, f := range files {
		h := f.Header
		if h.Typeflag == 0 {
			h.Typeflag, h.Size = tar.TypeReg, int64(len(f.data))
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, f.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// listTar gives a tar's entries as "mode uid:gid name", with " -> target" for links.
func listTar(t testing.TB, r io.Reader) []string {
	t.Helper()
	var all []string
	for tr := tar.NewReader(r); ; {
		h, err := tr.Next()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		s := fmt.Sprintf("%04o %d:%d %s", h.Mode, h.Uid, h.Gid, h.Name)
		if h.Linkname != "" {
			s += " -> " + h.Linkname
		}
		all = append(all, s)
	}
}

// probe is a small app with a package of its own; npm delivers it from a file.
type probe struct {
	tgz   string
	calls string
	bin   string
}

// newProbe registers the client "probe" with a locked package, and "probe-app" that comes as a Debian
// package besides, and puts an npm in PATH that runs
// script. In it $TGZ is the right tarball, and $DEST the folder that npm pack is to write to.
func newProbe(t *testing.T, script string) *probe {
	t.Helper()
	dir := t.TempDir()
	p := &probe{tgz: filepath.Join(dir, "probe.tgz"), calls: filepath.Join(dir, "calls"), bin: filepath.Join(dir, "bin")}
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	w.Write(tarOf(t,
		file{tar.Header{Name: "package/package.json", Mode: 0o644}, "{}"},
		file{tar.Header{Name: "package/vendor/x/bin/probe", Mode: 0o700, Uid: 70000}, "#!/bin/sh\necho probe\n"},
		file{tar.Header{Name: "package/vendor/x/voice/big", Mode: 0o644}, "unwanted"},
	))
	w.Close()
	writeFile(t, p.tgz, z.String(), 0o644)
	sum := sha512.Sum512(z.Bytes())
	setLock(t, packageLock{Spec: "probe@1", Size: int64(z.Len()), Integrity: "sha512-" + base64.StdEncoding.EncodeToString(sum[:])})
	p.program(t, "npm", `while [ $# -gt 0 ]; do [ "$1" = --pack-destination ] && DEST=$2; shift; done`+"\n"+script)
	return p
}

// program puts a shell script into PATH, before the real one.
func (p *probe) program(t *testing.T, name, script string) {
	t.Helper()
	if err := os.MkdirAll(p.bin, 0o755); err != nil {
		t.Fatal(err)
	}
	head := fmt.Sprintf("#!/bin/sh\nTGZ=%s\necho %s >>%s\n", p.tgz, name, p.calls)
	writeFile(t, filepath.Join(p.bin, name), head+script+"\n", 0o755)
	if path := os.Getenv("PATH"); !strings.HasPrefix(path, p.bin+":") {
		t.Setenv("PATH", p.bin+":"+path)
	}
}

// called counts the programs' runs.
func (p *probe) called(t *testing.T) int {
	t.Helper()
	b, err := os.ReadFile(p.calls)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Count(string(b), "\n")
}

const npmDelivers = `cp "$TGZ" "$DEST/probe-1.tgz"`

func setLock(t *testing.T, pkg packageLock) {
	t.Helper()
	oldLock := locked
	locked = func() lockFile {
		return lockFile{Epoch: 1_700_000_000, Apps: map[string]appLock{
			"probe": {Default: "1", Versions: map[string]map[string]packageLock{"1": {runtime.GOARCH: pkg}}},
		}}
	}
	probe := app{
		name: "probe", files: map[string]string{"bin/probe": "opt/probe/bin/probe"},
		links: map[string]string{"usr/local/bin/probe": "/opt/probe/bin/probe"}, binary: "opt/probe/bin/probe",
	}
	clients["probe"] = client{app: probe}
	clients["probe-app"] = client{app: probe, program: theProgram}
	t.Cleanup(func() {
		locked = oldLock
		delete(clients, "probe")
		delete(clients, "probe-app")
	})
}

// recipe builds the probe on a small base image.
func (p *probe) recipe(t *testing.T) Recipe {
	t.Helper()
	base, err := OpenBase(t.Context(), "oci:"+writeBase(t, baseOptions{}), runtime.GOARCH, nil)
	if err != nil {
		t.Fatal(err)
	}
	return Recipe{Client: "probe", Worker: workerFile(t), Base: base}
}

func workerFile(t testing.TB) string {
	t.Helper()
	f := filepath.Join(t.TempDir(), "berth-worker")
	writeFile(t, f, "the worker", 0o755)
	return f
}

func writeFile(t testing.TB, name, data string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(data), mode); err != nil {
		t.Fatal(err)
	}
}

// events collects what a build reports.
type events struct {
	mu  sync.Mutex
	all []Event
}

func (e *events) add(ev Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, ev)
}

// done gives the last event of each step, by step.
func (e *events) done() map[string]Event {
	last := map[string]Event{}
	for _, ev := range e.all {
		last[ev.Step] = ev
	}
	return last
}

// cacheFiles lists what lies in a cache, folders and the lock left out.
func cacheFiles(t testing.TB, dir string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err == nil && !d.IsDir() && rel != "lock" {
			all = append(all, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return all
}
