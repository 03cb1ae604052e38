package channel

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/berth-run/berth/internal/selfcheck"
	"github.com/hashicorp/yamux"
)

// cancelWait is how long a cancelled call waits for the worker to have ended what it does.
const cancelWait = 5 * time.Second

// stream opens a stream on the link there is, waiting for one, and sends its header. When ctx ends
// the stream is closed, which tells the worker to end the operation.
func (c *Client) stream(ctx context.Context, h header) (s *stream, err error) {
	for {
		l, err := c.link(ctx)
		if err != nil {
			return nil, err
		}
		y, err := l.OpenStream()
		if err != nil {
			if l.IsClosed() {
				continue
			}
			return nil, err
		}
		s := &stream{Stream: y, link: l, ctx: ctx}
		s.stop = context.AfterFunc(ctx, func() {
			// The worker ends the operation and hangs up; a link that is dead mustn't hold us much longer.
			y.SetReadDeadline(time.Now().Add(cancelWait))
			y.Close()
		})
		if err := writeHeader(y, h); err != nil {
			err = s.cause(err)
			s.Close()
			return nil, err
		}
		return s, nil
	}
}

// stream is one operation under way.
type stream struct {
	*yamux.Stream
	link *link
	ctx  context.Context
	stop func() bool
}

func (s *stream) Close() error {
	s.stop()
	return s.Stream.Close()
}

// cause says why the stream failed: the caller's own context, what the worker answered, what is
// being sent, or the link.
func (s *stream) cause(err error) error {
	if err == nil {
		return nil
	}
	if s.ctx.Err() != nil {
		return context.Cause(s.ctx)
	}
	var remote *remoteError
	var source *sourceError
	switch {
	case errors.As(err, &remote), errors.Is(err, ErrProtocol), errors.Is(err, ErrInvalid):
		return err
	case errors.As(err, &source):
		return source.err
	}
	return fmt.Errorf("%w: %w", ErrInterrupted, err)
}

// call does one small request that may safely be repeated: once more on the next link when one is
// lost before the answer.
func (c *Client) call(ctx context.Context, h header, body []byte, result any) error {
	for {
		err := c.callOnce(ctx, h, body, result)
		if !errors.Is(err, ErrInterrupted) || ctx.Err() != nil || c.ctx.Err() != nil {
			return err
		}
	}
}

func (c *Client) callOnce(ctx context.Context, h header, body []byte, result any) error {
	s, err := c.stream(ctx, h)
	if err != nil {
		return err
	}
	defer s.Close()
	if body != nil {
		if err := writeFrame(s, kindData, body); err != nil {
			return s.cause(err)
		}
	}
	err = s.cause(readReply(s, result))
	if errors.Is(err, ErrInterrupted) && !s.link.IsClosed() {
		// The worker hung up without a word on a link that is alive: asking again could go on forever.
		return fmt.Errorf("%w: %s got no answer", ErrProtocol, h.Op)
	}
	return err
}

// SelfCheck implements Shard.
func (c *Client) SelfCheck(ctx context.Context, e selfcheck.Expect) (selfcheck.Report, error) {
	var r selfcheck.Report
	err := c.call(ctx, header{Op: opSelfCheck, Expect: &e}, nil, &r)
	return r, err
}

// WriteToken implements Shard.
func (c *Client) WriteToken(ctx context.Context, name string, value []byte) error {
	if len(value) == 0 || len(value) > tokenMax {
		return fmt.Errorf("%w: token %q has %d bytes; 1 to %d are taken", ErrInvalid, name, len(value), tokenMax)
	}
	return c.call(ctx, header{Op: opToken, Name: name}, value, nil)
}

// ProbeInference implements Shard.
func (c *Client) ProbeInference(ctx context.Context, p InferenceProbe) (InferenceReport, error) {
	var r InferenceReport
	err := c.call(ctx, header{Op: opProbe, Probe: &p}, nil, &r)
	return r, err
}

// Collect implements Shard. Asking again for the bundle that is under way changes nothing.
func (c *Client) Collect(ctx context.Context) error {
	return c.call(ctx, header{Op: opCollect}, nil, nil)
}

// Keep implements Shard.
func (c *Client) Keep(ctx context.Context) error {
	return c.call(ctx, header{Op: opKeep}, nil, nil)
}

// Shutdown implements Shard. A link that ends before the answer is taken for the answer: the worker
// may be gone already.
func (c *Client) Shutdown(ctx context.Context) error {
	err := c.callOnce(ctx, header{Op: opShutdown}, nil, nil)
	if errors.Is(err, ErrInterrupted) {
		err = nil
	}
	c.Close()
	return err
}
