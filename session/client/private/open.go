// Package private opens, checks and removes what is to be this user's alone, beside an agent that runs
// as the same user and may have put anything in its place. It decides nothing about what is in there.
package private

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// ErrNotPlain: not a regular file of this user.
var ErrNotPlain = errors.New("not a plain file of this user")

// Open opens a regular file of this user, and nothing that an agent can have put in its place: no link,
// no device, and no pipe, whose open would wait for a writer for good.
func Open(path string) (*os.File, fs.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && (!info.Mode().IsRegular() || !Owned(info)) {
		err = ErrNotPlain
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// SingleLink tells whether a file that Open gave has one name only.
func SingleLink(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Nlink == 1
}

// CheckDir makes sure that dir is a folder of this user that nobody else can reach, and not a link.
func CheckDir(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() || info.Mode().Perm() != 0o700 || !Owned(info) {
		return fmt.Errorf("%s must be a folder of this user, mode 0700", dir)
	}
	return nil
}

// Owned tells whether a file is this process's user's.
func Owned(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Getuid()
}
