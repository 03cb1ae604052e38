package channel

import (
	"io"
	"net"
	"time"

	"github.com/hashicorp/yamux"
)

// acceptTunnels carries connections to the gateway's address to the coordinator, each over a stream
// of its own, until the link ends. While none is attached the address refuses, which makes an app
// wait and try again.
func (s *Server) acceptTunnels(a *served) {
	slots := make(chan struct{}, streamsMax/2)
	for {
		conn, err := a.tunnel.Accept()
		if err != nil {
			if a.link.IsClosed() {
				return
			}
			time.Sleep(10 * time.Millisecond) // out of descriptors: the one error that passes
			continue
		}
		slots <- struct{}{}
		go func() {
			defer func() { <-slots }()
			tunnel(a.link, conn.(*net.TCPConn))
		}()
	}
}

// tunnel joins a connection and a stream. Either end closing ends both: what goes through is HTTP,
// which has no use for half a connection. A cut link is a reset, so that an answer without a length
// isn't taken for whole.
func tunnel(l *link, conn *net.TCPConn) {
	defer conn.Close()
	stream, err := l.OpenStream()
	if err != nil {
		conn.SetLinger(0)
		return
	}
	defer stream.Close()
	if err := writeHeader(stream, header{Op: opTunnel}); err != nil {
		conn.SetLinger(0)
		return
	}
	go func() {
		_, _ = io.CopyBuffer(struct{ io.Writer }{stream}, struct{ io.Reader }{conn}, make([]byte, outputMax))
		stream.Close()
	}()
	copyDown(conn, stream)
	if l.IsClosed() {
		conn.SetLinger(0)
	}
}

func copyDown(conn *net.TCPConn, stream *yamux.Stream) {
	_, _ = io.CopyBuffer(struct{ io.Writer }{conn}, struct{ io.Reader }{stream}, make([]byte, outputMax))
}
