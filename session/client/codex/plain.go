package codex

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

var errNotPlain = errors.New("not a plain file of this user")

// openPlain opens a regular file of this user, and nothing that an agent can have put in its place: no
// link, no device, and no pipe, whose open would wait for a writer for good.
func openPlain(path string) (*os.File, fs.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil {
		st, ok := info.Sys().(*syscall.Stat_t)
		if !ok || !info.Mode().IsRegular() || int(st.Uid) != os.Getuid() {
			err = errNotPlain
		}
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}
