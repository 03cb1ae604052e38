package backends

import (
	"errors"
	"fmt"
	"io"
)

// CopyStdin is for backends: it copies a Process's Stdin to where the engine takes it, size bytes at a
// time. An error is the reader's: stdin must not be ended then, since what came so far would pass for
// all. A write that fails isn't one: the process has ended, which shows elsewhere too.
func CopyStdin(w io.Writer, stdin io.Reader, size int) error {
	r := &failure{Reader: stdin}
	// The struct hides ReadFrom, which would copy 32 KiB at a time.
	_, _ = io.CopyBuffer(struct{ io.Writer }{w}, r, make([]byte, size))
	if r.err != nil {
		return fmt.Errorf("reading stdin: %w", r.err)
	}
	return nil
}

// failure keeps a reader's error apart from a writer's.
type failure struct {
	io.Reader
	err error
}

func (f *failure) Read(p []byte) (int, error) {
	n, err := f.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		f.err = err
	}
	return n, err
}
