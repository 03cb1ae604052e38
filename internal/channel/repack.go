package channel

import (
	"errors"
	"io"

	"github.com/berth-run/berth/internal/channel/archive"
)

// repacker gives a tar stream as archive.Copy writes it. Whoever takes it by WriteTo saves a hop. It's
// either written or read, by one goroutine.
type repacker struct {
	tar io.Reader
	// pipe is there once it's being read.
	pipe    *io.PipeReader
	written bool
	done    chan error
}

func (p *repacker) copy(w io.Writer) error {
	_, err := archive.Copy(taker{w}, sourceReader{p.tar}, archive.Limits{})
	p.done <- err
	return err
}

// WriteTo implements io.WriterTo.
func (p *repacker) WriteTo(w io.Writer) (int64, error) {
	p.written = true
	return 0, p.copy(w) // nobody counts
}

func (p *repacker) Read(b []byte) (int, error) {
	if p.pipe == nil {
		r, w := io.Pipe()
		p.pipe = r
		go func() { w.CloseWithError(p.copy(w)) }()
	}
	return p.pipe.Read(b)
}

var errUnread = errors.New("the tar stream wasn't read to its end")

// end says how the copy went, once nobody takes it any more.
func (p *repacker) end() error {
	switch {
	case p.pipe != nil:
		p.pipe.CloseWithError(errUnread)
	case !p.written:
		return &bulkFault{errUnread}
	}
	return <-p.done
}

// taker marks the errors of who takes the stream.
type taker struct{ w io.Writer }

func (t taker) Write(b []byte) (int, error) {
	n, err := t.w.Write(b)
	if err != nil {
		err = &bulkFault{err}
	}
	return n, err
}
