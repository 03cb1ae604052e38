package archive

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// entry is a tar header with its content.
type entry struct {
	tar.Header
	content string
}

func stream(t *testing.T, entries ...entry) io.Reader {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		e.Size = int64(len(e.content))
		if err := w.WriteHeader(&e.Header); err != nil {
			t.Fatal(err)
		}
		io.WriteString(w, e.content)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &b
}

func file(name, content string) entry {
	return entry{tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644}, content}
}

func link(name, target string) entry {
	return entry{Header: tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target}}
}

func special(name string, typ byte) entry {
	return entry{Header: tar.Header{Typeflag: typ, Name: name, Linkname: "x", Mode: 0o644}}
}

func root(t *testing.T) (*os.Root, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "root")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	r, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r, dir
}

func TestHostileEntries(t *testing.T) {
	tests := map[string][]entry{
		"parent":                 {file("../x", "")},
		"parent within":          {file("a/../../x", "")},
		"absolute":               {file("/etc/x", "")},
		"only dots":              {file("..", "")},
		"link to absolute":       {link("l", "/etc")},
		"link outside":           {link("a/l", "../../x")},
		"empty link":             {link("l", "")},
		"through a link out":     {link("l", "sub/.."), link("m", "l/../.."), file("m/x", "")},
		"file over a link":       {link("l", "target"), file("l", "")},
		"twice":                  {file("a", "1"), file("a", "2")},
		"folder over a file":     {file("a", ""), file("a/b", "")},
		"hard link":              {file("x", ""), special("h", tar.TypeLink)},
		"character device":       {special("d", tar.TypeChar)},
		"block device":           {special("d", tar.TypeBlock)},
		"pipe":                   {special("p", tar.TypeFifo)},
		"unknown type":           {special("u", 'Z')},
		"folder named as parent": {{Header: tar.Header{Typeflag: tar.TypeDir, Name: "a/../../b/", Mode: 0o755}}},
	}
	for name, entries := range tests {
		t.Run(name, func(t *testing.T) {
			r, dir := root(t)
			err := Unpack(r, stream(t, entries...), Limits{})
			if !errors.Is(err, ErrHostile) && !errors.Is(err, syscall.ENOTDIR) {
				t.Errorf("Unpack = %v, want ErrHostile", err)
			}
			if beside, _ := os.ReadDir(filepath.Dir(dir)); len(beside) != 1 {
				t.Errorf("beside the root: %v", beside)
			}
			if _, err := Copy(io.Discard, stream(t, entries...), Limits{}); !errors.Is(err, ErrHostile) {
				t.Errorf("Copy = %v, want ErrHostile", err)
			}
		})
	}
}

func TestLimits(t *testing.T) {
	tests := map[string]struct {
		entries []entry
		limits  Limits
		want    error
	}{
		"at the limits": {[]entry{file("a", "12345"), file("b", "12345")}, Limits{Bytes: 10, Entries: 2}, nil},
		"bytes":         {[]entry{file("a", "12345"), file("b", "123456")}, Limits{Bytes: 10}, ErrTooLarge},
		"entries":       {[]entry{file("a", ""), file("b", ""), file("c", "")}, Limits{Entries: 2}, ErrTooLarge},
	}
	for name, tt := range tests {
		r, _ := root(t)
		if err := Unpack(r, stream(t, tt.entries...), tt.limits); !errors.Is(err, tt.want) {
			t.Errorf("%s: Unpack = %v, want %v", name, err, tt.want)
		}
		if _, err := Copy(io.Discard, stream(t, tt.entries...), tt.limits); !errors.Is(err, tt.want) {
			t.Errorf("%s: Copy = %v, want %v", name, err, tt.want)
		}
	}
}

func TestSetIDBitsAreDropped(t *testing.T) {
	r, dir := root(t)
	e := file("s", "")
	e.Mode = 0o6755
	if err := Unpack(r, stream(t, e), Limits{}); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(filepath.Join(dir, "s")); err != nil || info.Mode() != 0o755 {
		t.Errorf("mode %v, %v; want 0755", info.Mode(), err)
	}
}

// TestRoundTrip packs a folder with everything in it that can be there and finds the harmless part.
func TestRoundTrip(t *testing.T) {
	from, dir := root(t)
	for path, mode := range map[string]fs.FileMode{"a": 0o755, "a/empty": 0o700, "ro": 0o555} {
		if err := errors.Join(os.MkdirAll(filepath.Join(dir, path), 0o755), os.Chmod(filepath.Join(dir, path), mode)); err != nil {
			t.Fatal(err)
		}
	}
	long := strings.Repeat("long", 40)
	err := errors.Join(
		os.WriteFile(filepath.Join(dir, "a", "x"), []byte("content"), 0o640),
		os.WriteFile(filepath.Join(dir, "a", long), nil, 0o600),
		os.Symlink("a/x", filepath.Join(dir, "in")),
		os.Symlink("/etc/passwd", filepath.Join(dir, "out")),
		os.Symlink("gone", filepath.Join(dir, "dangling")),
		syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600),
	)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := Pack(&b, from, "."); err != nil {
		t.Fatal(err)
	}
	to, out := root(t)
	if err := Unpack(to, &b, Limits{}); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"a": "drwxr-xr-x", "a/empty": "drwx------", "ro": "dr-xr-xr-x", "a/x": "-rw-r-----",
		"a/" + long: "-rw-------", "in": "Lrwxrwxrwx", "dangling": "Lrwxrwxrwx"}
	got := map[string]string{}
	filepath.WalkDir(out, func(p string, d fs.DirEntry, err error) error {
		if info, ierr := d.Info(); err == nil && ierr == nil && p != out {
			got[strings.TrimPrefix(p, out+"/")] = info.Mode().String()
		}
		return err
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("after the round trip (-want +got)\n%s", diff)
	}
	if content, err := os.ReadFile(filepath.Join(out, "a", "x")); string(content) != "content" || err != nil {
		t.Errorf("content %q, %v", content, err)
	}
}

func TestPackStaysInside(t *testing.T) {
	r, dir := root(t)
	if err := os.Symlink("/etc", filepath.Join(dir, "etc")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"etc", "etc/passwd", "../root", "absent"} {
		if err := Pack(io.Discard, r, name); err == nil {
			t.Errorf("Pack(%q) worked", name)
		}
	}
}

// What can't be packed costs the rest nothing, wherever in the order it comes.
func TestPackLeavesOut(t *testing.T) {
	tests := map[string]struct {
		name  string // of what is left out
		dir   bool
		asToo bool // also for root, who may read everything
	}{
		"a file nobody may read":         {name: "locked"},
		"a folder nobody may enter":      {name: "locked", dir: true},
		"a file whose name isn't text":   {name: "bad\xff", asToo: true},
		"a folder whose name isn't text": {name: "bad\xff", dir: true, asToo: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if os.Getuid() == 0 && !tt.asToo {
				t.Skip("root may read everything; run the tests as an ordinary user")
			}
			r, dir := root(t)
			out := filepath.Join(dir, "sub", tt.name)
			err := errors.Join(os.Mkdir(filepath.Dir(out), 0o700), os.WriteFile(filepath.Join(dir, "a"), nil, 0o600),
				os.WriteFile(filepath.Join(dir, "sub", "z"), nil, 0o600))
			if tt.dir {
				err = errors.Join(err, os.Mkdir(out, 0o700), os.WriteFile(filepath.Join(out, "x"), nil, 0o600), os.Chmod(out, 0))
			} else {
				err = errors.Join(err, os.WriteFile(out, nil, 0))
			}
			if errors.Is(err, syscall.EILSEQ) {
				t.Skip("this file system takes only names that are text")
			}
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.Chmod(out, 0o700) })
			var b bytes.Buffer
			if err := Pack(&b, r, "."); !errors.Is(err, ErrLeftOut) {
				t.Errorf("Pack = %v, want ErrLeftOut", err)
			}
			to, _ := root(t)
			if err := Unpack(to, &b, Limits{}); err != nil {
				t.Fatal(err)
			}
			for _, kept := range []string{"a", "sub/z"} {
				if _, err := to.Stat(kept); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func FuzzUnpack(f *testing.F) {
	for _, e := range [][]entry{{file("a", "x")}, {link("l", "a"), file("l/x", "")}, {file("../x", "")}} {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		for _, one := range e {
			one.Size = int64(len(one.content))
			w.WriteHeader(&one.Header)
			io.WriteString(w, one.content)
		}
		w.Close()
		f.Add(b.Bytes())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, dir := root(t)
		_ = Unpack(r, bytes.NewReader(b), Limits{Bytes: 1 << 20, Entries: 100})
		if beside, _ := os.ReadDir(filepath.Dir(dir)); len(beside) != 1 {
			t.Errorf("beside the root: %v", beside)
		}
	})
}
