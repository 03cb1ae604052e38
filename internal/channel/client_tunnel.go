package channel

import (
	"fmt"
	"net"
	"sync"

	"github.com/hashicorp/yamux"
)

// tunnelListener hands the worker's tunnel streams to Accept, whichever link they come over.
type tunnelListener struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func newTunnelListener() *tunnelListener {
	return &tunnelListener{conns: make(chan net.Conn), done: make(chan struct{})}
}

// serve offers one stream to Accept. The stream belongs to whoever accepts it.
func (t *tunnelListener) serve(s *yamux.Stream, h header) {
	if h.Op != opTunnel {
		writeReply(s, nil, fmt.Errorf("%w: a shard can't ask for %q", ErrProtocol, h.Op))
		s.Close()
		return
	}
	select {
	case t.conns <- s:
	case <-t.done:
		s.Close()
	}
}

func (t *tunnelListener) Accept() (net.Conn, error) {
	select {
	case <-t.done:
		return nil, net.ErrClosed
	default:
	}
	select {
	case c := <-t.conns:
		return c, nil
	case <-t.done:
		return nil, net.ErrClosed
	}
}

func (t *tunnelListener) Close() error {
	t.once.Do(func() { close(t.done) })
	return nil
}

// Addr is where the shard's processes connect to.
func (t *tunnelListener) Addr() net.Addr {
	return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: tunnelPort}
}
