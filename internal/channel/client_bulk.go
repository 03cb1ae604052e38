package channel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"github.com/berth-run/berth/internal/channel/archive"
)

// bulkMin is from how many bytes on another way than the link is worth asking for.
const bulkMin = 4 << 20

// bulk is the other way, nil where there is none. One that has failed isn't asked again: the link
// always works, and whoever repeats what was interrupted gets it.
func (c *Client) bulk() Bulk {
	if c.bulkFailed.Load() {
		return nil
	}
	return c.opts.Bulk
}

func (c *Client) bulkError(err error) error {
	c.bulkFailed.Store(true)
	return fmt.Errorf("%w: the engine's copy: %w", ErrInterrupted, err)
}

// putBulk has the worker make a folder, the engine fill it, and the worker move it in. When the
// stream to the worker ends before, the folder goes, and the engine is called off.
func (c *Client) putBulk(ctx context.Context, bulk Bulk, dir string, tar io.Reader) error {
	s, err := c.stream(ctx, header{Op: opStage, Path: dir})
	if err != nil {
		return err
	}
	defer s.Close()
	var staged stageReply
	if err := readReply(s, &staged); err != nil {
		return s.cause(err)
	}
	if !staged.beside(dir) {
		return fmt.Errorf("%w: %.200q to put into %.200q", ErrProtocol, staged.Dir, dir)
	}
	copying, cancel := context.WithCancel(ctx)
	defer cancel()
	answer := make(chan error, 1)
	go func() {
		answer <- readReply(s, nil)
		cancel()
	}()
	if err := copyIn(copying, bulk, staged.Dir, tar); err != nil {
		// The worker is asked to throw the folder away, and waited for.
		lost := copying.Err() != nil && ctx.Err() == nil
		s.SetReadDeadline(time.Now().Add(cancelWait))
		s.Stream.Close()
		said := <-answer
		switch fault := new(bulkFault); {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case lost && said != nil:
			return s.cause(said)
		case errors.As(err, &fault):
			return c.bulkError(fault.err)
		}
		return err
	}
	if err := writeFrame(s, kindEnd, nil); err != nil {
		return s.cause(err)
	}
	return s.cause(<-answer)
}

// bulkFault is the other way's own error, as against one of what is being sent.
type bulkFault struct{ err error }

func (e *bulkFault) Error() string { return e.err.Error() }

// copyIn sends only what Unpack would take, since who unpacks it there may take more.
func copyIn(ctx context.Context, bulk Bulk, dir string, tar io.Reader) error {
	p := &repacker{tar: tar, done: make(chan error, 1)}
	err := bulk.CopyIn(ctx, dir, p)
	perr := p.end()
	source, fault := new(sourceError), new(bulkFault)
	switch {
	case errors.As(perr, &source):
		return source.err
	case errors.Is(perr, archive.ErrHostile), errors.Is(perr, archive.ErrTooLarge):
		return fmt.Errorf("%w: %w", ErrInvalid, perr)
	case perr != nil && !errors.As(perr, &fault):
		return fmt.Errorf("%w: %w", ErrFailed, perr)
	case err != nil:
		return &bulkFault{err}
	}
	return perr
}

// sourceReader marks the errors of the caller's own Reader.
type sourceReader struct{ r io.Reader }

func (s sourceReader) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && err != io.EOF {
		err = &sourceError{err}
	}
	return n, err
}

// getBulk has the engine pack what the worker has measured. The worker has refused a path outside its
// folders, or one behind a link. A process in the shard may put a link there meanwhile, and what is
// packed then is whatever the engine can read in the shard: nothing of this machine's, nothing that
// the coordinator hasn't put there itself, and what comes from a shard isn't trusted.
func (c *Client) getBulk(ctx context.Context, bulk Bulk, name string, want archive.Measured, w io.Writer) error {
	ctx, stop := c.until(ctx)
	defer stop()
	name = path.Clean(name)
	if want.Dir {
		name += "/."
	}
	r, pw := io.Pipe()
	copied := make(chan error, 1)
	go func() {
		err := bulk.CopyOut(ctx, name, pw)
		pw.CloseWithError(err)
		copied <- err
	}()
	got, err := archive.Copy(sink{w}, r, archive.Limits{})
	r.CloseWithError(io.ErrClosedPipe)
	if cerr := <-copied; err == nil {
		err = cerr
	}
	var source *sourceError
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &source):
		return source.err
	case err == nil && got != want.Totals:
		err = fmt.Errorf("%d entries of %d bytes came, of %d of %d", got.Entries, got.Bytes, want.Entries, want.Bytes)
	}
	if err != nil {
		return c.bulkError(err)
	}
	return nil
}

// stageReply is where an engine is to copy to.
type stageReply struct {
	Dir string `json:"dir"`
}

const stagePrefix = ".put-"

// beside tells whether a folder is one that a worker makes for putting into dir.
func (r stageReply) beside(dir string) bool {
	return path.Clean(r.Dir) == r.Dir && strings.HasPrefix(path.Base(r.Dir), stagePrefix) &&
		strings.HasPrefix(path.Clean(dir)+"/", path.Dir(r.Dir)+"/")
}
