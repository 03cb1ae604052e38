// Package pipe reads what a program left in a pipe when it ended, while others may hold the pipe open.
package pipe

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// most is what a pipe holds at most, in bytes, unless somebody privileged has asked for more
// (/proc/sys/fs/pipe-max-size).
const most = 1 << 20

// Ready reads what is in one of os.Pipe's at the moment, and waits for no more, whatever deadline it has. A
// writer that goes on doesn't keep it: it ends at what a pipe can hold, with io.EOF.
func Ready(f *os.File) io.Reader { return io.LimitReader(ready{f}, most) }

type ready struct{ *os.File }

func (r ready) Read(p []byte) (n int, err error) {
	conn, err := r.SyscallConn()
	if err != nil {
		return 0, err
	}
	// Control, as Read of a connection heeds the deadline.
	cerr := conn.Control(func(fd uintptr) {
		for err = syscall.EINTR; errors.Is(err, syscall.EINTR); {
			n, err = syscall.Read(int(fd), p) // it doesn't block: os.Pipe's don't
		}
	})
	if cerr != nil || err != nil || n <= 0 {
		return 0, io.EOF // closed, or empty
	}
	return n, nil
}
