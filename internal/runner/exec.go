package runner

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/internal/channel"
	"github.com/berth-run/berth/oci"
)

// ChannelOpener execs `berth-worker channel` in a shard for the channel's client.
func ChannelOpener(sh backends.Shard) channel.Opener {
	return func(ctx context.Context) (io.ReadWriteCloser, error) {
		// The stream outlives the call that opened it; Close is what ends the exec.
		ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
		inR, inW := io.Pipe()
		outR, outW := io.Pipe()
		s := &stdio{PipeReader: outR, in: inW, cancel: cancel, done: make(chan struct{})}
		go func() {
			defer close(s.done)
			st, err := sh.Exec(ctx, backends.Process{
				Args: []string{oci.WorkerPath, "channel"}, Stdin: inR, Stdout: outW, Stderr: &s.stderr,
			})
			err = s.ended(st, err)
			outW.CloseWithError(err)
			inR.CloseWithError(err)
		}()
		return s, nil
	}
}

// BulkOf is the engine's own copy, nil where it has none.
func BulkOf(ctx context.Context, b backends.Backend, sh backends.Shard) channel.Bulk {
	if info, err := b.Info(ctx); err == nil && info.Capabilities.Copy {
		return sh
	}
	return nil
}

// stdio is one exec's standard streams as the channel wants them.
type stdio struct {
	*io.PipeReader
	in     *io.PipeWriter
	cancel context.CancelCauseFunc
	done   chan struct{}
	stderr tail
}

func (s *stdio) Write(p []byte) (int, error) { return s.in.Write(p) }

// Close ends the exec and waits until nothing of it is left on this side.
func (s *stdio) Close() error {
	s.in.Close()
	s.cancel(io.ErrClosedPipe)
	s.PipeReader.Close()
	<-s.done
	return nil
}

// ended turns how the exec went into what a reader of the stream gets.
func (s *stdio) ended(st backends.ExitStatus, err error) error {
	switch {
	case err != nil:
		return fmt.Errorf("channel exec: %w", err)
	case st.Code != 0:
		return fmt.Errorf("channel exec: exit status %d: %s", st.Code, s.stderr.String())
	}
	return io.EOF
}

// tail keeps the last bytes written to it: what a dying process said.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

const tailBytes = 4 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - tailBytes; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(strings.Fields(string(t.buf)), " ")
}
