package channel

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/berth-run/berth/internal/selfcheck"
	"github.com/berth-run/berth/internal/shardproto"
)

// ServerOptions are what the worker brings.
type ServerOptions struct {
	// Folders are where Put and Get work: the path in a shard that starts a request's, and the
	// folder it stands for. In a shard these are the same; in tests the folder is a temporary one.
	Folders map[string]string
	// Home is where commands run that name no folder; "" is the worker's own.
	Home string
	// TokensDir holds the token files; 0700.
	TokensDir string
	// TunnelAddr is listened on while a coordinator is attached; default TunnelAddr.
	TunnelAddr string
	// SelfCheck, Collect, Keep and Shutdown do what Shard says of them.
	SelfCheck func(context.Context, selfcheck.Expect) selfcheck.Report
	Collect   func() error
	Keep      func()
	Shutdown  func()
	Timing
}

// Server is the worker's end: one coordinator at a time, over links that come and go.
type Server struct {
	opts     ServerOptions
	out      *Log
	in       *Inbox
	messages chan shardproto.Message
	stdins   stdins
	heard    atomic.Int64

	ctx    context.Context
	cancel context.CancelCauseFunc

	attaching sync.Mutex // one attach after the other
	mu        sync.Mutex
	fence     fence
	cur       *served
	tunnel    string
}

// served is an attached link. done is closed when everything that it started has ended.
type served struct {
	link   *link
	tunnel net.Listener
	reply  attachReply
	seen   uint64
	done   chan struct{}
}

// NewServer gives a Server that nobody is attached to yet.
func NewServer(o ServerOptions) *Server {
	if o.TunnelAddr == "" {
		o.TunnelAddr = TunnelAddr
	}
	o.Timing = o.Timing.orDefault()
	s := &Server{opts: o, out: NewLog(), in: NewInbox(), messages: make(chan shardproto.Message), tunnel: o.TunnelAddr}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	s.heard.Store(int64(sinceStart()))
	go s.deliver()
	return s
}

// ServeConn serves one link that is trusted, until it ends: the connection of a `berth-worker
// channel`, or in tests any pipe.
func (s *Server) ServeConn(conn io.ReadWriteCloser) error {
	var attached atomic.Bool
	l, err := newLink(conn, true, s.opts.Timing, func() {
		if attached.Load() {
			s.heard.Store(int64(sinceStart()))
		}
	})
	if err != nil {
		return err
	}
	defer l.Close()
	defer context.AfterFunc(s.ctx, func() { l.Close() })()
	stream, request, err := awaitAttach(l)
	if err != nil {
		return err
	}
	a, err := s.attach(l, request)
	if err != nil {
		writeReply(stream, nil, err)
		return err
	}
	defer s.detach(a)
	attached.Store(true)
	s.heard.Store(int64(sinceStart()))
	if err := writeReply(stream, a.reply, nil); err != nil {
		return err
	}
	var wg sync.WaitGroup
	wg.Go(func() { s.acceptTunnels(a) })
	wg.Go(func() { l.accept(s.serve(l)) })
	err = exchange(l.ctx, stream, s.out, s.in, a.seen)
	l.Close()
	a.tunnel.Close()
	wg.Wait()
	return err
}

// Send queues a message for the coordinator, waiting while too many are unacknowledged.
func (s *Server) Send(ctx context.Context, m shardproto.Message) error {
	b, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return s.out.Append(ctx, b)
}

// Messages gives the coordinator's messages, once, in order; closed by Close.
func (s *Server) Messages() <-chan shardproto.Message { return s.messages }

// Unacknowledged counts the messages that no coordinator has taken yet.
func (s *Server) Unacknowledged() int { return s.out.Len() }

// Attached tells whether a coordinator is.
func (s *Server) Attached() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cur != nil
}

// Silence is how long ago a coordinator was last heard: anything it sent counts, a ping too. Before
// the first attach it's the Server's age.
func (s *Server) Silence() time.Duration { return sinceStart() - time.Duration(s.heard.Load()) }

// TunnelAddr is the gateway's address for the processes of this shard.
func (s *Server) TunnelAddr() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tunnel
}

// Close ends the link there is and refuses new ones.
func (s *Server) Close() error {
	s.cancel(ErrClosed)
	return nil
}

func (s *Server) deliver() {
	defer close(s.messages)
	s.cancel(s.in.deliver(s.ctx, decodeTo(s.ctx, s.messages))) // changes nothing where ctx's end is why
}
