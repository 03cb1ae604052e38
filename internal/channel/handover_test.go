package channel

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
)

// handedOver is an Opener that does what an exec of `berth-worker channel` does.
func handedOver(socket *net.UnixAddr) Opener {
	return func(context.Context) (io.ReadWriteCloser, error) {
		conn, err := net.DialUnix("unix", nil, socket)
		if err != nil {
			return nil, err
		}
		theirIn, in, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		out, theirOut, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		ended := make(chan error, 1)
		go func() {
			err := HandOver(conn, theirIn, theirOut)
			theirIn.Close()
			theirOut.Close()
			ended <- err
		}()
		return &handedLink{Reader: out, Writer: in, close: func() error {
			return errors.Join(in.Close(), out.Close(), <-ended)
		}, conn: conn}, nil
	}
}

type handedLink struct {
	io.Reader
	io.Writer
	close func() error
	conn  *net.UnixConn
}

func (l *handedLink) Close() error { return l.close() }

func serveSocket(t testing.TB, s *Server) *net.UnixAddr {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(t.TempDir(), "s"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go s.Serve(context.Background(), l, func(*net.UnixConn) error { return nil })
	return l.Addr().(*net.UnixAddr)
}

func TestHandOver(t *testing.T) {
	s := newShard(t)
	open := handedOver(serveSocket(t, s.Server))
	links := make(chan *handedLink, 8)
	c, err := Dial(t.Context(), func(ctx context.Context) (io.ReadWriteCloser, error) {
		l, err := open(ctx)
		if err == nil {
			links <- l.(*handedLink)
		}
		return l, err
	}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Keep(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-s.kept

	// The exec's process is killed, which only its connection tells. The worker hangs up, so the client
	// opens another link.
	(<-links).conn.Close()
	<-links
	if err := c.Keep(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-s.kept
}

// TestTakeOver refuses what isn't a link's two descriptors, and keeps none of them.
func TestTakeOver(t *testing.T) {
	for name, send := range map[string]func(*testing.T, *net.UnixConn){
		"nothing": func(_ *testing.T, c *net.UnixConn) { c.Close() },
		"no descriptors": func(t *testing.T, c *net.UnixConn) {
			if _, err := c.Write([]byte{handOver}); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			socket := filepath.Join(t.TempDir(), "s")
			l, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			near, err := net.DialUnix("unix", nil, l.Addr().(*net.UnixAddr))
			if err != nil {
				t.Fatal(err)
			}
			defer near.Close()
			far, err := l.AcceptUnix()
			if err != nil {
				t.Fatal(err)
			}
			defer far.Close()
			send(t, near)
			if _, err := takeOver(far); err == nil {
				t.Error("takeOver gave a link")
			}
		})
	}
}
