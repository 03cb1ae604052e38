package containerd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berth-run/berth/backends"
)

// fifos are how an exec's streams reach the engine's shim, which opens them by their paths. They are in a
// folder that is gone once both sides have opened them; what a killed berth left of one goes with its shard.
type fifos struct {
	engine engine
	// name is the folder's, below fifoDir: the shard's id and the exec's.
	name string
	// held are writing ends of the outputs, open until the shim has its own: a reader without any would
	// see the end.
	held    []*os.File
	outputs []*output
}

// streamBuffer is what a stream moves at a time: all that a pipe holds.
const streamBuffer = 64 << 10

// fifoFolder has the FIFOs of a shard, as they're seen from here.
func fifoFolder(e engine, shard string) string { return filepath.Join(e.root+e.fifoDir(), shard) }

// openFIFOs opens both ends of all FIFOs of a shard. Where berth was killed while an exec was starting, the
// shim waits for one of them, and for half a minute does nothing else: not even see its shard's end.
func openFIFOs(e engine, shard string) (release func()) {
	var open []*os.File
	found, _ := filepath.Glob(filepath.Join(fifoFolder(e, shard), "*", "std*")) // the pattern is a good one
	for _, name := range found {
		if f, err := os.OpenFile(name, unix.O_RDWR|unix.O_NONBLOCK, 0); err == nil {
			open = append(open, f)
		}
	}
	return func() {
		for _, f := range open {
			f.Close()
		}
	}
}

func newFIFOs(e engine, shard, exec string, p backends.Process) (*fifos, error) {
	f := &fifos{engine: e, name: filepath.Join(shard, exec)}
	if err := f.make(p); err != nil {
		f.close()
		return nil, fmt.Errorf("%w: making FIFOs in %s, which berth and containerd share: %w", backends.ErrUnavailable, e.root+e.fifoDir(), err)
	}
	return f, nil
}

func (f *fifos) make(p backends.Process) error {
	if err := os.MkdirAll(f.here(""), 0o700); err != nil {
		return err
	}
	if p.Stdin != nil {
		if err := unix.Mkfifo(f.here("stdin"), 0o600); err != nil {
			return err
		}
	}
	return errors.Join(f.output("stdout", p.Stdout), f.output("stderr", p.Stderr))
}

func (f *fifos) output(stream string, w io.Writer) error {
	if w == nil {
		w = io.Discard // containerd 1.6 takes both outputs or none
	}
	if err := unix.Mkfifo(f.here(stream), 0o600); err != nil {
		return err
	}
	r, err := os.OpenFile(f.here(stream), unix.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	f.outputs = append(f.outputs, &output{File: r, w: w})
	held, err := os.OpenFile(f.here(stream), unix.O_WRONLY|unix.O_NONBLOCK, 0)
	if err == nil {
		f.held = append(f.held, held)
	}
	return err
}

// here is a FIFO's path on this side, there on the engine's, "" for one that isn't.
func (f *fifos) here(stream string) string {
	return filepath.Join(f.engine.root+f.engine.fifoDir(), f.name, stream)
}

func (f *fifos) there(stream string) string {
	if _, err := os.Lstat(f.here(stream)); err != nil {
		return ""
	}
	return filepath.Join(f.engine.fifoDir(), f.name, stream)
}

// started lets go of what only the start needed.
func (f *fifos) started() {
	for _, h := range f.held {
		h.Close()
	}
	f.held = nil
}

// stdin opens that one for writing, once the shim reads it. ErrProcessDone when ended says so first.
func (f *fifos) stdin(ctx context.Context, ended <-chan struct{}) (*os.File, error) {
	for wait := 100 * time.Microsecond; ; wait = min(2*wait, 20*time.Millisecond) {
		w, err := os.OpenFile(f.here("stdin"), unix.O_WRONLY|unix.O_NONBLOCK, 0)
		if !errors.Is(err, unix.ENXIO) {
			return w, err
		}
		select {
		case <-ended:
			return nil, os.ErrProcessDone
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(wait):
		}
	}
}

// forget removes the folder, once both sides have opened what is in it: so there's nothing to clean up
// after a berth that was killed.
func (f *fifos) forget() { os.RemoveAll(f.here("")) }

// close ends all that is left on this side. A copy that goes on has the end of its stream.
func (f *fifos) close() {
	f.started()
	for _, o := range f.outputs {
		o.Close()
	}
	f.forget()
}

// output is one stream on its way out.
type output struct {
	*os.File
	w io.Writer
	// moved counts bytes; writing is while some are being written.
	moved   atomic.Int64
	writing atomic.Bool
}

// copy moves the stream to its end. A file that was closed is one.
func (o *output) copy() error {
	buf := make([]byte, streamBuffer)
	for {
		n, err := o.Read(buf)
		if n > 0 {
			o.writing.Store(true)
			if _, err := o.w.Write(buf[:n]); err != nil {
				return fmt.Errorf("copying the exec's output: %w", err)
			}
			o.moved.Add(int64(n))
			o.writing.Store(false)
		}
		if errors.Is(err, io.EOF) || errors.Is(err, os.ErrClosed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading the exec's output: %w", err)
		}
	}
}
