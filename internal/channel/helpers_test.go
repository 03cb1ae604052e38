package channel

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/berth-run/berth/internal/selfcheck"
)

// shard is a Server with folders of its own and an Opener for it.
type shard struct {
	*Server
	dir       string
	collected chan struct{}
	kept      chan struct{}
	ended     chan struct{}

	mu    sync.Mutex
	conns []net.Conn // the coordinator's ends, in order
	opens int
}

func newShard(t *testing.T) *shard {
	t.Helper()
	s := &shard{dir: t.TempDir(), collected: make(chan struct{}, 16), kept: make(chan struct{}, 16), ended: make(chan struct{}, 16)}
	folders := map[string]string{}
	for _, name := range []string{"bundle", "results", "home", "tmp"} {
		dir := filepath.Join(s.dir, name)
		folders["/shard/"+name] = dir
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	s.Server = NewServer(ServerOptions{
		Folders: folders, Home: filepath.Join(s.dir, "home"), TokensDir: filepath.Join(s.dir, "tokens"), TunnelAddr: "127.0.0.1:0",
		SelfCheck: func(_ context.Context, e selfcheck.Expect) selfcheck.Report {
			return selfcheck.Report{Limits: []selfcheck.Check{{Name: "pids", OK: e.Pids == 7}}}
		},
		Collect:  func() error { s.collected <- struct{}{}; return nil },
		Keep:     func() { s.kept <- struct{}{} },
		Shutdown: func() { s.ended <- struct{}{} },
	})
	t.Cleanup(func() { s.Close() })
	return s
}

// open is an Opener whose links wrap can damage.
func (s *shard) open(wrap func(n int, c io.ReadWriteCloser) io.ReadWriteCloser) Opener {
	return func(context.Context) (io.ReadWriteCloser, error) {
		near, far := net.Pipe()
		go s.ServeConn(far)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.conns = append(s.conns, near)
		s.opens++
		if wrap == nil {
			return near, nil
		}
		return wrap(s.opens-1, near), nil
	}
}

// cut loses the newest link.
func (s *shard) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns[len(s.conns)-1].Close()
}

func dial(t *testing.T, open Opener, o Options) *Client {
	t.Helper()
	c, err := Dial(t.Context(), open, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}
