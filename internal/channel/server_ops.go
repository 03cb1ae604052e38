package channel

import (
	"context"
	"fmt"
	"io"

	"github.com/hashicorp/yamux"
)

// serve dispatches the operations of one link. Each one's context ends when the coordinator hangs
// up on it or the link ends.
func (s *Server) serve(l *link) func(*yamux.Stream, header) {
	return func(stream *yamux.Stream, h header) {
		defer stream.Close()
		switch h.Op {
		case opPut:
			writeReply(stream, nil, s.put(h.Path, &dataReader{r: stream}))
			return
		case opStage:
			writeReply(stream, nil, s.stage(h.Path, stream))
			return
		case opToken:
			writeReply(stream, nil, s.token(h.Name, stream))
			return
		case opStdin:
			s.stdins.feed(h.ID, &dataReader{r: stream})
			return
		}
		ctx, cancel := watch(l.ctx, stream)
		defer cancel()
		switch {
		case h.Op == opCommand && h.Command != nil:
			s.command(ctx, stream, *h.Command)
		case h.Op == opGet:
			// A write that waits for room comes back when nobody listens any more.
			defer context.AfterFunc(ctx, func() { stream.Close() })()
			s.get(stream, h.Path)
		default:
			result, err := s.answer(ctx, h)
			writeReply(stream, result, err)
			if h.Op == opShutdown {
				s.opts.Shutdown()
			}
		}
	}
}

// answer does the operations that are one request and one reply.
func (s *Server) answer(ctx context.Context, h header) (any, error) {
	switch {
	case h.Op == opSelfCheck && h.Expect != nil:
		return s.opts.SelfCheck(ctx, *h.Expect), nil
	case h.Op == opProbe && h.Probe != nil:
		return s.probe(ctx, *h.Probe)
	case h.Op == opMeasure:
		return s.measure(h.Path)
	case h.Op == opCollect:
		return nil, s.opts.Collect()
	case h.Op == opKeep:
		s.opts.Keep()
		return nil, nil
	case h.Op == opShutdown:
		return nil, nil
	}
	return nil, fmt.Errorf("%w: no such operation: %.40q", ErrProtocol, h.Op)
}

// watch gives a context that ends when the other end closes the stream, for operations that don't
// read it themselves.
func watch(ctx context.Context, stream *yamux.Stream) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, stream)
		cancel()
	}()
	return ctx, cancel
}
