package containerd_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berth-run/berth/backends/containerd"
)

// TestLostShimAsRoot: a client that hangs up while the engine waits for a shim's start leaves the shim, with
// nothing to do and unknown to the engine. It goes with its shard, or a sweep ends it once that is gone; one
// that the engine may still want is spared.
func TestLostShimAsRoot(t *testing.T) {
	r := newRig(t)
	created, err := r.Create(t.Context(), r.config(t))
	if err != nil {
		t.Fatal(err)
	}
	of, gone, wanted := newShim(t, r, created.ID()), newShim(t, r, "gone"), newShim(t, r, "wanted")
	of.lose(t)
	gone.lose(t)
	if err := r.RemoveStale(t.Context()); err != nil {
		t.Error(err)
	}
	of.want(t, r, true)
	gone.want(t, r, false)
	wanted.want(t, r, true)
	if err := created.Remove(t.Context()); err != nil {
		t.Error(err)
	}
	of.want(t, r, false)
	wanted.lose(t)
	if err := r.RemoveStale(t.Context()); err != nil {
		t.Error(err)
	}
	wanted.want(t, r, false)
}

// TestRemoveAwaitsShimAsRoot removes a shard whose start is under way for a berth that was killed.
func TestRemoveAwaitsShimAsRoot(t *testing.T) {
	r := newRig(t)
	created, err := r.Create(t.Context(), r.config(t))
	if err != nil {
		t.Fatal(err)
	}
	s := newShim(t, r, created.ID())
	removed := make(chan error, 1)
	go func() { removed <- created.Remove(t.Context()) }()
	select {
	case err := <-removed:
		t.Fatalf("it doesn't wait for what the engine makes of the shim (%v)", err)
	case <-time.After(time.Second): // what is awaited is that nothing happens
	}
	s.lose(t)
	if err := <-removed; err != nil {
		t.Error(err)
	}
	s.want(t, r, false)
}

// testShim is a shim that the engine doesn't know.
type testShim struct{ folder, id string }

// newShim runs one as its own start does, at a socket that it's given.
func newShim(t *testing.T, r rig, id string) testShim {
	t.Helper()
	s := testShim{filepath.Join(t.TempDir(), id), id}
	if err := os.Mkdir(s.folder, 0o700); err != nil {
		t.Fatal(err)
	}
	s.log(t)
	shim, err := exec.LookPath("containerd-shim-runc-v2")
	if err != nil {
		t.Fatal(err)
	}
	cmd := enter(r.Backend, true, "sh", "-ec", `cd "$0"; exec "$@"`, s.folder, shim, "-namespace", containerd.Namespace, "-id", id, "-address", r.Address())
	cmd.Env = append(cmd.Env, "TTRPC_ADDRESS="+r.Address()+".ttrpc")
	cmd.ExtraFiles = []*os.File{listener(t, r.ShimSocket(id))}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	s.want(t, r, true)
	return s
}

// listener is a socket, whose file stays when it's closed.
func listener(t *testing.T, name string) *os.File {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o711); err != nil {
		t.Fatal(err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: name, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	f, err := l.File()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		l.Close()
		f.Close()
		os.Remove(name) // when the test has failed
	})
	return f
}

// log makes what a shim opens for its log, and reads none of it.
func (s testShim) log(t *testing.T) {
	t.Helper()
	name := filepath.Join(s.folder, "log")
	if err := unix.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
}

// lose has the engine forget it.
func (s testShim) lose(t *testing.T) {
	t.Helper()
	hidden := filepath.Join(filepath.Dir(s.folder), "."+s.id)
	if err := os.Rename(s.folder, hidden); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(hidden); err != nil {
		t.Fatal(err)
	}
}

// want checks whether it runs, and listens.
func (s testShim) want(t *testing.T, r rig, there bool) {
	t.Helper()
	n := s.processes()
	for late := time.Now().Add(time.Minute); (n > 0) != there && time.Now().Before(late); n = s.processes() {
		time.Sleep(10 * time.Millisecond) // a start and a kill take their time
	}
	if (n > 0) != there {
		t.Errorf("shim of %s: %d processes", s.id, n)
	}
	if _, err := os.Stat(r.ShimSocket(s.id)); (err == nil) != there {
		t.Errorf("shim of %s: its socket: %v", s.id, err)
	}
}

// processes counts those that have got as far as being a shim.
func (s testShim) processes() (n int) {
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is a good one
	for _, name := range all {
		text, _ := os.ReadFile(name)
		args := strings.Split(string(text), "\x00")
		if filepath.Base(args[0]) == "containerd-shim-runc-v2" && slices.Contains(args, s.id) {
			n++
		}
	}
	return n
}
