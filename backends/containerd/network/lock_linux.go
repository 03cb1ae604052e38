package network

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// locked does something that no other helper is at.
func locked(do func() error) error {
	f, err := lock()
	if err != nil {
		return fmt.Errorf("locking: %w", err)
	}
	defer f.Close()
	return do()
}

// lock takes the file, which its last holder may have removed meanwhile.
func lock() (*os.File, error) {
	for {
		if err := os.MkdirAll(folder(), 0o700); err != nil {
			return nil, err
		}
		f, err := os.OpenFile(lockFile(), os.O_RDWR|os.O_CREATE, 0o600)
		if errors.Is(err, fs.ErrNotExist) {
			continue // the folder went again
		}
		if err != nil {
			return nil, err
		}
		if err := flock(f); err != nil {
			f.Close()
			return nil, err
		}
		held, err := f.Stat()
		if err == nil {
			if there, err := os.Stat(lockFile()); err == nil && os.SameFile(held, there) {
				return f, nil
			}
		}
		f.Close()
	}
}

// flock waits until nobody else has the file locked. Its end is the file's closing.
func flock(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
