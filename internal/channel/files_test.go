package channel

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tarOf makes a tar stream of entries; a name that ends in / is a folder.
func tarOf(t testing.TB, entries ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range entries {
		content := h.Xattrs["content"] //nolint:staticcheck // only a place to keep it
		h.Xattrs = nil                 //nolint:staticcheck
		h.Size = int64(len(content))
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		io.WriteString(w, content)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func file(name, content string, mode int64) tar.Header {
	return tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Xattrs: map[string]string{"content": content}} //nolint:staticcheck
}

// listing gives path → mode and content of everything below dir.
func listing(t *testing.T, dir string) map[string]string {
	t.Helper()
	m := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		m[rel] = info.Mode().String()
		if d.Type().IsRegular() {
			b, err := os.ReadFile(p)
			m[rel] += " " + string(b)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestPutAndGet(t *testing.T) {
	s := newShard(t)
	c := dial(t, s.open(nil), Options{})
	stream := tarOf(t, file("a/b.txt", "hello", 0o640), file("run", "#!", 0o755),
		tar.Header{Typeflag: tar.TypeDir, Name: "locked/", Mode: 0o500},
		tar.Header{Typeflag: tar.TypeSymlink, Name: "a/link", Linkname: "../run", Mode: 0o777})
	if err := c.Put(t.Context(), "/shard/bundle/x", bytes.NewReader(stream)); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"a": "drwx------", "a/b.txt": "-rw-r----- hello", "run": "-rwxr-xr-x #!", "locked": "dr-x------", "a/link": "Lrwxrwxrwx"}
	if diff := cmp.Diff(want, listing(t, filepath.Join(s.dir, "bundle/x"))); diff != "" {
		t.Errorf("bundle/x (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"x"}, names(t, filepath.Join(s.dir, "bundle"))); diff != "" {
		t.Errorf("bundle (-want +got)\n%s", diff)
	}
	var back bytes.Buffer
	if err := c.Get(t.Context(), "/shard/bundle/x", &back); err != nil {
		t.Fatal(err)
	}
	if err := c.Put(t.Context(), "/shard/tmp", &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, listing(t, filepath.Join(s.dir, "tmp"))); diff != "" {
		t.Errorf("after a round trip (-want +got)\n%s", diff)
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func TestPutReplaces(t *testing.T) {
	s := newShard(t)
	c := dial(t, s.open(nil), Options{})
	for _, stream := range [][]byte{
		tarOf(t, file("dir/old", "1", 0o600), file("plain", "1", 0o600), file("kept", "1", 0o600)),
		tarOf(t, file("dir/new", "2", 0o600), file("plain", "2", 0o600)),
	} {
		if err := c.Put(t.Context(), "/shard/results", bytes.NewReader(stream)); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]string{"dir": "drwx------", "dir/new": "-rw------- 2", "plain": "-rw------- 2", "kept": "-rw------- 1"}
	if diff := cmp.Diff(want, listing(t, filepath.Join(s.dir, "results"))); diff != "" {
		t.Errorf("results (-want +got)\n%s", diff)
	}
}

func TestGetOneFile(t *testing.T) {
	s := newShard(t)
	c := dial(t, s.open(nil), Options{})
	if err := os.WriteFile(filepath.Join(s.dir, "results", "r.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := c.Get(t.Context(), "/shard/results/r.json", &b); err != nil {
		t.Fatal(err)
	}
	r := tar.NewReader(&b)
	h, err := r.Next()
	if err != nil || h.Name != "r.json" || h.Mode != 0o600 {
		t.Errorf("entry %+v, %v", h, err)
	}
	if content, err := io.ReadAll(r); string(content) != "{}" || err != nil {
		t.Errorf("content %q, %v", content, err)
	}
}

func TestPlacesThatAreRefused(t *testing.T) {
	s := newShard(t)
	c := dial(t, s.open(nil), Options{})
	if err := os.Symlink("/etc", filepath.Join(s.dir, "results", "out")); err != nil {
		t.Fatal(err)
	}
	ok := tarOf(t, file("f", "x", 0o600))
	for path, want := range map[string]error{
		"": ErrInvalid, "/": ErrInvalid, "/etc": ErrInvalid, "/shard/tokens": ErrInvalid, "/shard/bundle/../tokens": ErrInvalid,
		"/shard/bundlex": ErrInvalid, "shard/bundle": ErrInvalid, filepath.Join(s.dir, "bundle"): ErrInvalid, "/shard/results/out": ErrFailed,
	} {
		if err := c.Put(t.Context(), path, bytes.NewReader(ok)); !errors.Is(err, want) {
			t.Errorf("Put(%q) = %v, want %v", path, err, want)
		}
		if err := c.Get(t.Context(), path, io.Discard); !errors.Is(err, want) {
			t.Errorf("Get(%q) = %v, want %v", path, err, want)
		}
	}
	if err := c.Get(t.Context(), "/shard/results/absent", io.Discard); !errors.Is(err, ErrFailed) {
		t.Errorf("Get of what isn't there = %v, want ErrFailed", err)
	}
}

// TestRefusedPutLeavesNothing: the entry before the bad one isn't there either, even when the stream
// goes on for longer than any buffer on the way.
func TestRefusedPutLeavesNothing(t *testing.T) {
	s := newShard(t)
	c := dial(t, s.open(nil), Options{})
	hostile := tarOf(t, file("good", "x", 0o600), file("../bad", "x", 0o600), file("tail", strings.Repeat("x", 3*streamWindow), 0o600))
	if err := c.Put(t.Context(), "/shard/home", bytes.NewReader(hostile)); !errors.Is(err, ErrInvalid) {
		t.Errorf("Put = %v, want ErrInvalid", err)
	}
	if left := names(t, filepath.Join(s.dir, "home")); left != nil {
		t.Errorf("home holds %v", left)
	}
}

var errSource = errors.New("disk on fire")

// TestBrokenPutLeavesNothing: a source that fails, a stream that ends between two entries, a link that is cut.
func TestBrokenPutLeavesNothing(t *testing.T) {
	whole := tarOf(t, file("a", "x", 0o600), file("b", "y", 0o600))
	tests := map[string]struct {
		source func(s *shard) io.Reader
		want   error
	}{
		"source fails":       {func(*shard) io.Reader { return io.MultiReader(bytes.NewReader(whole[:1024]), failing{}) }, errSource},
		"end in a header":    {func(*shard) io.Reader { return bytes.NewReader(whole[:1300]) }, ErrFailed},
		"link cut, all sent": {func(s *shard) io.Reader { return io.MultiReader(bytes.NewReader(whole), cutting{s}) }, ErrInterrupted},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newShard(t)
			c := dial(t, s.open(nil), Options{})
			if err := c.Put(t.Context(), "/shard/home", tt.source(s)); !errors.Is(err, tt.want) {
				t.Errorf("Put = %v, want %v", err, tt.want)
			}
			if err := c.Keep(t.Context()); err != nil { // the next link, if the last was cut
				t.Fatal(err)
			}
			c.Close()
			detached(t, s)
			if left := names(t, filepath.Join(s.dir, "home")); left != nil {
				t.Errorf("home holds %v", left)
			}
		})
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errSource }

type cutting struct{ s *shard }

func (c cutting) Read([]byte) (int, error) {
	c.s.cut()
	return 0, io.EOF
}

func TestGetInterrupted(t *testing.T) {
	s := newShard(t)
	c := dial(t, s.open(nil), Options{})
	if err := os.WriteFile(filepath.Join(s.dir, "results", "big"), make([]byte, 2*streamWindow), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.Get(t.Context(), "/shard/results", cuttingWriter{s}); !errors.Is(err, ErrInterrupted) {
		t.Errorf("Get = %v, want ErrInterrupted", err)
	}
	if err := c.Get(t.Context(), "/shard/results", failingWriter{}); !errors.Is(err, errSource) {
		t.Errorf("Get = %v, want the writer's error", err)
	}
}

type cuttingWriter struct{ s *shard }

func (c cuttingWriter) Write(p []byte) (int, error) {
	c.s.cut()
	return len(p), nil
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errSource }
