package channel

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/berth-run/berth/internal/version"
	"github.com/hashicorp/yamux"
)

// awaitAttach takes a link's first stream, which must ask to attach, soon.
func awaitAttach(l *link) (*yamux.Stream, attachRequest, error) {
	ctx, cancel := context.WithTimeout(l.ctx, headerWait)
	defer cancel()
	stream, err := l.AcceptStreamWithContext(ctx)
	if err != nil {
		return nil, attachRequest{}, err
	}
	stream.SetReadDeadline(time.Now().Add(headerWait))
	h, err := readHeader(stream)
	if err == nil && h.Attach == nil {
		err = fmt.Errorf("%w: %q before attach", ErrProtocol, h.Op)
	}
	if err != nil {
		writeReply(stream, nil, err)
		return nil, attachRequest{}, err
	}
	return stream, *h.Attach, stream.SetReadDeadline(time.Time{})
}

// replaceWait bounds the wait for an older link's operations to have ended.
const replaceWait = 10 * time.Second

// attach makes l the shard's link: it fences off the others, cuts the one there is, waits until its
// commands are dead, and opens the tunnel's address.
func (s *Server) attach(l *link, r attachRequest) (*served, error) {
	s.attaching.Lock()
	defer s.attaching.Unlock()
	s.mu.Lock()
	fresh, err := s.fence.admit(r, s.out.Acked())
	old, start := s.cur, s.fence.start
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if old != nil {
		old.link.Close()
		select {
		case <-old.done:
		case <-time.After(replaceWait):
		}
	}
	if fresh {
		s.in.Reset(0)
	}
	a := &served{link: l, reply: attachReply{Version: version.Version, Start: start, Seen: s.in.Seen()}, seen: start, done: make(chan struct{})}
	if r.Seen != nil {
		a.seen = *r.Seen
	}
	if err := s.out.check(a.seen); err != nil {
		return nil, err
	}
	if a.tunnel, err = s.listenTunnel(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.cur = a
	s.mu.Unlock()
	return a, nil
}

func (s *Server) detach(a *served) {
	a.link.Close()
	a.tunnel.Close()
	s.mu.Lock()
	if s.cur == a {
		s.cur = nil
	}
	s.mu.Unlock()
	close(a.done)
}

// listenTunnel opens the tunnel's address, which stays the same over all links.
func (s *Server) listenTunnel() (net.Listener, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := net.Listen("tcp", s.tunnel)
	if err != nil {
		return nil, fmt.Errorf("%w: open the gateway's address in the shard: %w", ErrFailed, err)
	}
	s.tunnel = t.Addr().String()
	return t, nil
}
