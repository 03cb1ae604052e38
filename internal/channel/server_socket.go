package channel

import (
	"context"
	"errors"
	"net"
	"time"
)

// Socket is the control socket's address: an abstract one, in the shard's own network namespace.
// Unlike a file it can't be unlinked and bound again by an app that has the worker's uid, so a
// channel never talks to anyone but the worker.
const Socket = "@berth/control"

// linksMax bounds the links that are open at once: the attached one, and those that are on the way.
const linksMax = 8

// Serve serves the control socket until ctx ends. trust judges each peer, TrustEngine in a shard; one
// that is trusted hands over the stdio that its link goes over (HandOver).
func (s *Server) Serve(ctx context.Context, l *net.UnixListener, trust func(*net.UnixConn) error) error {
	defer context.AfterFunc(ctx, func() { l.Close() })()
	slots := make(chan struct{}, linksMax)
	for {
		conn, err := l.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return context.Cause(ctx)
		}
		if err != nil {
			time.Sleep(10 * time.Millisecond) // out of descriptors: the one error that passes
			continue
		}
		if trust(conn) != nil {
			conn.Close()
			continue
		}
		slots <- struct{}{}
		go func() {
			defer func() { <-slots }()
			defer conn.Close()
			if link, err := takeOver(conn); err == nil {
				_ = s.ServeConn(link) // why a link ended is its coordinator's to tell
			}
		}()
	}
}
