package rig

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/berth-run/berth/internal/testrig"
)

// places bounds a package's tests that have shards up at a time: more make engines slow, not tests fast.
var places = make(chan struct{}, 2)

// TakePlace lets a test have shards up beside one other such test of its package.
func TakePlace(t *testing.T) {
	t.Helper()
	testrig.NeedRootless(t)
	t.Parallel()
	places <- struct{}{}
	t.Cleanup(func() { <-places })
	shareEngine(t)
}

// The tests of several packages run at once, and every run of berth's sweeps away what dead runs left on
// the engine. So a test that looks for such leavings holds the engine's lock alone, the others share it.
// Who wants it alone isn't overtaken: everybody passes the gate first, one at a time.
// The names are unlike those of what berth itself leaves there, which is looked for.
const (
	gateLock   = "e2e-berth.gate"
	engineLock = "e2e-berth.engine"
)

func shareEngine(t *testing.T) { takeEngine(t, syscall.LOCK_SH) }

func haveEngineAlone(t *testing.T) { takeEngine(t, syscall.LOCK_EX) }

func takeEngine(t *testing.T, how int) {
	t.Helper()
	gate, err := lock(gateLock, syscall.LOCK_EX)
	if err != nil {
		t.Fatal(err)
	}
	defer gate.Close()
	engine, err := lock(engineLock, how)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
}

// lock waits for a lock of this user's, which goes with the file or with the process.
func lock(name string, how int) (*os.File, error) {
	dir := os.Getenv("XDG_RUNTIME_DIR")
	if dir == "" {
		dir = os.TempDir()
	}
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.EINTR
	for errors.Is(err, syscall.EINTR) {
		err = syscall.Flock(int(f.Fd()), how)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
