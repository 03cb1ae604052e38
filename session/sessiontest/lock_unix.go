//go:build unix

package sessiontest

import (
	"os"
	"syscall"
	"testing"
)

// lock takes a lock file until the test's end; false when somebody else has it.
func lock(t testing.TB, path string) bool {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return false
	}
	if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		f.Close()
		return false
	}
	t.Cleanup(func() {
		os.Remove(path)
		f.Close()
	})
	return true
}
