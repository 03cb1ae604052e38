package channel

import (
	"bytes"
	"context"
	"io"
	"testing"

	"github.com/berth-run/berth/internal/selfcheck"
)

func benchClient(b *testing.B) *Client {
	b.Helper()
	home := b.TempDir()
	s := NewServer(ServerOptions{
		Folders: map[string]string{"/home": home}, Home: home, TokensDir: b.TempDir(), TunnelAddr: "127.0.0.1:0",
		SelfCheck: func(context.Context, selfcheck.Expect) selfcheck.Report { return selfcheck.Report{} },
		Keep:      func() {},
	})
	b.Cleanup(func() { s.Close() })
	c, err := Dial(b.Context(), handedOver(serveSocket(b, s)), Options{})
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
