package channel

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-run/berth/internal/channel/archive"
)

// copying is a Bulk that works on the shard's folders, as an engine would.
type copying struct {
	s         *shard
	ins, outs atomic.Int32
	// written: the tar stream is taken by its WriteTo.
	written bool
	// in and out, if set, come before the copy, and say what fails.
	in  func(ctx context.Context, tar io.Reader) error
	out func(w io.Writer) error
}

func (c *copying) root(name string) (*os.Root, error) {
	return os.OpenRoot(filepath.Join(c.s.dir, strings.TrimPrefix(name, "/shard/")))
}

func (c *copying) CopyIn(ctx context.Context, dir string, tar io.Reader) error {
	c.ins.Add(1)
	root, err := c.root(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if c.in != nil {
		if err := errors.Join(root.WriteFile("half", nil, 0o600), c.in(ctx, tar)); err != nil {
			return err
		}
	}
	if c.written {
		var b bytes.Buffer
		if _, err := tar.(io.WriterTo).WriteTo(&b); err != nil {
			return err
		}
		tar = &b
	}
	return archive.Unpack(root, tar, archive.Limits{})
}

func (c *copying) CopyOut(_ context.Context, name string, w io.Writer) error {
	c.outs.Add(1)
	if c.out != nil {
		return c.out(w)
	}
	dir, whole := strings.CutSuffix(name, "/.")
	base := "."
	if !whole {
		dir, base = filepath.Split(name)
	}
	root, err := c.root(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return archive.Pack(w, root, base)
}

func (c *copying) wantCalls(t *testing.T, ins, outs int32) {
	t.Helper()
	if i, o := c.ins.Load(), c.outs.Load(); i != ins || o != outs {
		t.Errorf("the engine copied %d times in and %d out, want %d and %d", i, o, ins, outs)
	}
}

// bigTar is more than bulkMin, with something of everything.
func bigTar(t *testing.T) []byte {
	t.Helper()
	return tarOf(t, file("a/b.txt", "hello", 0o640), file("big", strings.Repeat("x", bulkMin), 0o600), file("run", "#!", 0o4755),
		tar.Header{Typeflag: tar.TypeDir, Name: "locked/", Mode: 0o500},
		tar.Header{Typeflag: tar.TypeSymlink, Name: "a/link", Linkname: "../run", Mode: 0o777})
}

// TestBulkIsLikeTheLink: what goes another way looks the same at either end.
func TestBulkIsLikeTheLink(t *testing.T) {
	put := func(s *shard, c *Client, path string) map[string]string {
		if err := c.Put(t.Context(), path, bytes.NewReader(bigTar(t))); err != nil {
			t.Fatal(err)
		}
		return listing(t, filepath.Join(s.dir, strings.TrimPrefix(path, "/shard/")))
	}
	plain := newShard(t)
	want := put(plain, dial(t, plain.open(nil), Options{}), "/shard/home/x/y")

	s := newShard(t)
	bulk := &copying{s: s}
	c := dial(t, s.open(nil), Options{Bulk: bulk})
	for _, bulk.written = range []bool{false, true} { // the second replaces the first
		if diff := cmp.Diff(want, put(s, c, "/shard/home/x/y")); diff != "" {
			t.Errorf("put by the engine (-link +engine)\n%s", diff)
		}
	}
	if diff := cmp.Diff([]string{"x"}, names(t, filepath.Join(s.dir, "home"))); diff != "" {
		t.Errorf("home (-want +got)\n%s", diff)
	}
	bulk.wantCalls(t, 2, 0)
	for path, to := range map[string]string{"/shard/home/x/../x/y": "tmp", "/shard/home/x/y/big": "results"} {
		var back bytes.Buffer
		if err := c.Get(t.Context(), path, &back); err != nil {
			t.Fatal(err)
		}
		root, err := os.OpenRoot(filepath.Join(s.dir, to))
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		if err := archive.Unpack(root, &back, archive.Limits{}); err != nil {
			t.Fatal(err)
		}
	}
	bulk.wantCalls(t, 2, 2)
	if diff := cmp.Diff(want, listing(t, filepath.Join(s.dir, "tmp"))); diff != "" {
		t.Errorf("got by the engine (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"big": want["big"]}, listing(t, filepath.Join(s.dir, "results"))); diff != "" {
		t.Errorf("one file, got by the engine (-want +got)\n%s", diff)
	}
}

// TestBulkIsForBulk: what is small, or what another packer would write otherwise, goes over the link.
func TestBulkIsForBulk(t *testing.T) {
	s := newShard(t)
	bulk := &copying{s: s}
	c := dial(t, s.open(nil), Options{Bulk: bulk})
	if err := c.Put(t.Context(), "/shard/home", bytes.NewReader(tarOf(t, file("small", "x", 0o600)))); err != nil {
		t.Fatal(err)
	}
	big := make([]byte, bulkMin)
	results := filepath.Join(s.dir, "results")
	for name, do := range map[string]func(dir string) error{
		"hard": func(dir string) error { return os.Link(filepath.Join(dir, "big"), filepath.Join(dir, "again")) },
		"pipe": func(dir string) error { return syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600) },
		"out":  func(dir string) error { return os.Symlink("/etc", filepath.Join(dir, "etc")) },
		"link": func(dir string) error { return os.Symlink("link", filepath.Join(results, "behind")) },
	} {
		dir := filepath.Join(results, name)
		if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "big"), big, 0o600), do(dir)); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"home", "results/hard", "results/pipe", "results/out", "results/behind", "results/behind/big"} {
		if err := c.Get(t.Context(), "/shard/"+path, io.Discard); err != nil {
			t.Errorf("Get(%s) = %v", path, err)
		}
	}
	bulk.wantCalls(t, 0, 0)
	for _, path := range []string{"", "/etc", "/shard/tokens", "/shard/bundle/../tokens"} {
		if err := c.Put(t.Context(), path, bytes.NewReader(bigTar(t))); !errors.Is(err, ErrInvalid) {
			t.Errorf("Put(%q) = %v, want ErrInvalid", path, err)
		}
		if err := c.Get(t.Context(), path, io.Discard); !errors.Is(err, ErrInvalid) {
			t.Errorf("Get(%q) = %v, want ErrInvalid", path, err)
		}
	}
	bulk.wantCalls(t, 0, 0)
}

var errEngine = errors.New("engine on fire")

// TestBrokenBulkPutLeavesNothing, whatever breaks it.
func TestBrokenBulkPutLeavesNothing(t *testing.T) {
	whole := bigTar(t)
	hostile := tarOf(t, file("big", strings.Repeat("x", bulkMin), 0o600), file("../bad", "", 0o600), file("tail", strings.Repeat("x", bulkMin), 0o600))
	cause := errors.New("cause")
	wait := func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}
	tests := map[string]struct {
		source io.Reader
		in     func(s *shard, cancel func()) func(context.Context, io.Reader) error
		want   error
	}{
		"engine fails at once": {bytes.NewReader(whole), func(*shard, func()) func(context.Context, io.Reader) error {
			return func(context.Context, io.Reader) error { return errEngine }
		}, ErrInterrupted},
		"engine fails half-way": {bytes.NewReader(whole), func(*shard, func()) func(context.Context, io.Reader) error {
			return func(_ context.Context, tar io.Reader) error {
				_, err := io.CopyN(io.Discard, tar, bulkMin/2)
				return errors.Join(err, errEngine)
			}
		}, ErrInterrupted},
		"link cut": {bytes.NewReader(whole), func(s *shard, _ func()) func(context.Context, io.Reader) error {
			return func(ctx context.Context, _ io.Reader) error { s.cut(); return wait(ctx) }
		}, ErrInterrupted},
		"cancelled": {bytes.NewReader(whole), func(_ *shard, cancel func()) func(context.Context, io.Reader) error {
			return func(ctx context.Context, _ io.Reader) error { cancel(); return wait(ctx) }
		}, cause},
		"engine hangs up": {bytes.NewReader(whole), func(*shard, func()) func(context.Context, io.Reader) error {
			return func(_ context.Context, tar io.Reader) error {
				_, err := tar.(io.WriterTo).WriteTo(failingWriter{})
				return err
			}
		}, ErrInterrupted},
		"source fails":   {io.MultiReader(bytes.NewReader(whole[:bulkMin+4096]), failing{}), nil, errSource},
		"hostile source": {bytes.NewReader(hostile), nil, ErrInvalid},
		"end in a file":  {bytes.NewReader(whole[:bulkMin+2048]), nil, ErrFailed},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newShard(t)
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			bulk := &copying{s: s}
			if tt.in != nil {
				bulk.in = tt.in(s, func() { cancel(cause) })
			}
			c := dial(t, s.open(nil), Options{Bulk: bulk})
			if err := c.Put(ctx, "/shard/home/x", tt.source); !errors.Is(err, tt.want) {
				t.Errorf("Put = %v, want %v", err, tt.want)
			}
			bulk.wantCalls(t, 1, 0)
			if err := c.Put(t.Context(), "/shard/results", bytes.NewReader(tarOf(t, file("f", "x", 0o600)))); err != nil { // the next link, if the last was cut
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

// TestClearedForAWhile: an engine that was called off and goes on is cleaned up after.
func TestClearedForAWhile(t *testing.T) {
	s := newShard(t)
	home := filepath.Join(s.dir, "home")
	var stage string
	bulk := &copying{s: s, in: func(context.Context, io.Reader) error {
		stage = filepath.Join(home, names(t, home)[0])
		return errEngine
	}}
	c := dial(t, s.open(nil), Options{Bulk: bulk})
	if err := c.Put(t.Context(), "/shard/home", bytes.NewReader(bigTar(t))); !errors.Is(err, ErrInterrupted) || !errors.Is(err, errEngine) {
		t.Fatalf("Put = %v, want ErrInterrupted with the engine's words", err)
	}
	if err := os.MkdirAll(filepath.Join(stage, "late"), 0o700); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); names(t, home) != nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("home still holds %v", names(t, home))
		}
	}
	// From here on everything goes over the link.
	if err := c.Put(t.Context(), "/shard/home", bytes.NewReader(bigTar(t))); err != nil {
		t.Error(err)
	}
	if err := c.Get(t.Context(), "/shard/home", io.Discard); err != nil {
		t.Error(err)
	}
	bulk.wantCalls(t, 1, 0)
}

// TestBrokenBulkGet: an engine may fail, with or without a word, and so may the writer.
func TestBrokenBulkGet(t *testing.T) {
	short := tarOf(t, file("big", strings.Repeat("x", bulkMin), 0o600))
	for name, tt := range map[string]struct {
		out  func(io.Writer) error
		to   io.Writer
		want error
	}{
		"engine fails":        {func(io.Writer) error { return errEngine }, io.Discard, errEngine},
		"an entry is missing": {func(w io.Writer) error { _, err := w.Write(short); return err }, io.Discard, ErrInterrupted},
		"ends in a file":      {func(w io.Writer) error { _, err := w.Write(short[:bulkMin/2]); return err }, io.Discard, ErrInterrupted},
		"writer fails":        {nil, failingWriter{}, errSource},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShard(t)
			bulk := &copying{s: s, out: tt.out}
			c := dial(t, s.open(nil), Options{Bulk: bulk})
			if err := c.Put(t.Context(), "/shard/home", bytes.NewReader(bigTar(t))); err != nil {
				t.Fatal(err)
			}
			err := c.Get(t.Context(), "/shard/home", tt.to)
			if !errors.Is(err, tt.want) || tt.out != nil && !errors.Is(err, ErrInterrupted) {
				t.Errorf("Get = %v, want %v", err, tt.want)
			}
			var again bytes.Buffer
			if err := c.Get(t.Context(), "/shard/home", &again); err != nil {
				t.Error(err)
			}
			if again.Len() < bulkMin {
				t.Errorf("%d bytes came the second time", again.Len())
			}
		})
	}
}

func TestStageIsBeside(t *testing.T) {
	for dir, want := range map[string]bool{
		"/home/berth/.put-A": true, "/home/berth/x/.put-A": true, "/home/berth/x/y/.put-A": true,
		"/.put-A": false, "/home/berthx/.put-A": false, "/home/berth/put": false, "/home/berth/x/../.put-A": false, "/etc/.put-A": false, "": false,
	} {
		if got := (stageReply{dir}).beside("/home/berth/x/y/"); got != want {
			t.Errorf("%q: %v, want %v", dir, got, want)
		}
	}
}
