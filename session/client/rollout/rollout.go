package rollout

import (
	"fmt"
	"io"
	"os"
	"syscall"
)

// Rollout is one record, followed while it grows. The file is only open during a Poll.
type Rollout struct {
	path   string
	id     fileID
	offset int64
	parser parser
}

type fileID struct{ dev, ino uint64 }

// Open prepares to read path; labels are the MCP servers' labels, by which a tool's namespace is told.
func Open(path string, labels []string) *Rollout {
	return &Rollout{path: path, parser: newParser(labels)}
}

// Read reads a record that is over, such as a copy of one.
func Read(src io.Reader, labels []string) (*Rollout, error) {
	r := Open("", labels)
	return r, r.read(src)
}

// Path is the record's file.
func (r *Rollout) Path() string { return r.path }

// Size is how much of the file was read, in bytes.
func (r *Rollout) Size() int64 { return r.offset }

// Meta is the session's own description, zero until its line was read.
func (r *Rollout) Meta() Meta { return r.parser.meta }

// Turns are the session's turns so far, in order. They change with the next Poll.
func (r *Rollout) Turns() []*Turn { return r.parser.turns }

// Poll reads what was appended since the last one and tells whether there was anything. A last line
// without its end is kept until the rest of it comes. After an error the record is of no more use.
func (r *Rollout) Poll() (grew bool, err error) {
	// O_NONBLOCK: an agent may put a pipe in its place, whose open would wait for a writer for good.
	f, err := os.OpenFile(r.path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false, err
	}
	defer f.Close()
	size, err := r.check(f)
	if err != nil || size == r.offset {
		return false, err
	}
	return true, r.read(io.NewSectionReader(f, r.offset, size-r.offset))
}

// check makes sure that f is the file it was, and tells its size.
func (r *Rollout) check(f *os.File) (size int64, err error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.Mode().IsRegular() || st.Nlink != 1 || int(st.Uid) != os.Getuid() {
		return 0, fmt.Errorf("%w: %s", ErrUnsafeFile, info.Name())
	}
	id := fileID{uint64(st.Dev), st.Ino} //nolint:unconvert // Dev is an int32 on darwin
	if r.id == (fileID{}) {
		r.id = id
	}
	switch {
	case id != r.id || info.Size() < r.offset:
		return 0, fmt.Errorf("%w: %s", ErrReplaced, info.Name())
	case info.Size() > MaxSize:
		return 0, fmt.Errorf("%w: %s has %d bytes, the limit is %d", ErrTooLarge, info.Name(), info.Size(), MaxSize)
	}
	return info.Size(), nil
}

func (r *Rollout) read(src io.Reader) error {
	buf := make([]byte, 64<<10)
	for {
		n, err := src.Read(buf)
		r.offset += int64(n)
		if perr := r.parser.feed(buf[:n]); perr != nil {
			return perr
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
