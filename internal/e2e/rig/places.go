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
}

// lock waits for a lock of this user's, which goes with the file or with the process. Its name is to be
// unlike those of what berth itself leaves in the runtime directory, which is looked for.
func lock(name string) (*os.File, error) {
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
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
