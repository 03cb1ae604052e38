package channel

import (
	"bytes"
	"context"
	"io"
	"net"
	"path/filepath"
	"testing"

	"github.com/berth-run/berth/internal/selfcheck"
)

// socketPair is a link over a unix socket, which is what the worker's end of a real one is.
func socketPair(b *testing.B, s *Server) Opener {
	b.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(b.TempDir(), "s"), Net: "unix"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.Close() })
	go s.Serve(context.Background(), l, func(*net.UnixConn) error { return nil })
	return func(context.Context) (io.ReadWriteCloser, error) { return net.Dial("unix", l.Addr().String()) }
}

func benchClient(b *testing.B) *Client {
	b.Helper()
	home := b.TempDir()
	s := NewServer(ServerOptions{
		Folders: map[string]string{"/home": home}, Home: home, TokensDir: b.TempDir(), TunnelAddr: "127.0.0.1:0",
		SelfCheck: func(context.Context, selfcheck.Expect) selfcheck.Report { return selfcheck.Report{} },
		Keep:      func() {},
	})
	b.Cleanup(func() { s.Close() })
	c, err := Dial(b.Context(), socketPair(b, s), Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.Close() })
	return c
}

const benchBytes = 64 << 20

func BenchmarkFiles(b *testing.B) {
	c := benchClient(b)
	stream := tarOf(b, file("big", string(make([]byte, benchBytes)), 0o600))
	b.Run("put", func(b *testing.B) {
		b.SetBytes(benchBytes)
		for b.Loop() {
			if err := c.Put(b.Context(), "/home", bytes.NewReader(stream)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("get", func(b *testing.B) {
		b.SetBytes(benchBytes)
		for b.Loop() {
			if err := c.Get(b.Context(), "/home/big", io.Discard); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkCommand(b *testing.B) {
	c := benchClient(b)
	for b.Loop() {
		if r, err := c.Command(b.Context(), Command{Args: []string{"true"}}); err != nil || r.Code != 0 {
			b.Fatal(r, err)
		}
	}
}

func BenchmarkCall(b *testing.B) {
	c := benchClient(b)
	for b.Loop() {
		if err := c.Keep(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
