package channel

import (
	"bufio"
	"context"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/yamux"
)

const (
	// streamWindow is how much of one stream may be under way: 8 MiB keep a path of 100 ms and
	// 80 MB/s busy, and bound what a reader that has stopped costs.
	streamWindow = 8 << 20
	// streamsMax bounds the streams that one end serves at once.
	streamsMax = 256
	// stalled is for writes to a link that is alive and doesn't move; the death of a link is
	// noticed by silence, much earlier.
	stalled = 2 * time.Minute
	// abandoned is how long a stream that one end has closed may stay open at the other.
	abandoned = 30 * time.Second
	// headerWait bounds the time from a stream's start to the end of its header.
	headerWait = 20 * time.Second
)

// Timing says when a silent link counts as lost.
type Timing struct {
	// KeepAlive is how often each end pings; default 10 s.
	KeepAlive time.Duration
	// Silence is how long an end may hear nothing at all, not even a ping; default 30 s. A dead link
	// is noticed within Silence + KeepAlive.
	Silence time.Duration
}

func (t Timing) orDefault() Timing {
	if t.KeepAlive <= 0 {
		t.KeepAlive = 10 * time.Second
	}
	if t.Silence <= 0 {
		t.Silence = 30 * time.Second
	}
	return t
}

// link is one multiplexed session over one connection. ctx ends with it.
type link struct {
	*yamux.Session
	ctx  context.Context
	conn *meteredConn
}

// newLink starts a session: the coordinator is its client, the worker its server.
//
// yamux's own keepalive takes a ping that isn't answered in time for a dead link, though the answer
// may only be queued behind megabytes on a slow one. Here both ends ping, and a link is dead when
// nothing at all arrives: the other end's pings do, whatever we ourselves are sending.
func newLink(conn io.ReadWriteCloser, server bool, t Timing, heard func()) (*link, error) {
	config := yamux.DefaultConfig()
	config.EnableKeepAlive = false
	config.AcceptBacklog = streamsMax
	config.MaxStreamWindowSize = streamWindow
	config.ConnectionWriteTimeout = stalled
	config.StreamOpenTimeout = 0
	config.StreamCloseTimeout = abandoned
	config.LogOutput = io.Discard

	m := &meteredConn{ReadWriteCloser: conn, r: bufio.NewReaderSize(conn, 64<<10), heard: heard}
	m.last.Store(int64(sinceStart()))
	start := yamux.Client
	if server {
		start = yamux.Server
	}
	session, err := start(m, config)
	if err != nil {
		conn.Close()
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	l := &link{Session: session, ctx: ctx, conn: m}
	go func() {
		<-session.CloseChan()
		cancel(ErrInterrupted)
	}()
	go l.watch(t.orDefault())
	return l, nil
}

// ended tells whether the link is over. The session closes a little after its connection fails.
func (l *link) ended() bool { return l.IsClosed() || l.conn.end.Load() != nil }

// watch pings, and closes the link when nothing was heard for too long.
func (l *link) watch(t Timing) {
	ticker := time.NewTicker(t.KeepAlive)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-l.CloseChan():
			return
		}
		if l.conn.silence() > t.Silence {
			l.Close()
			return
		}
		go func() { _, _ = l.Ping() }() // its answer is heard as anything else is
	}
}

// accept serves the streams that the other end opens, a bounded number at once, until the link has
// ended and every serve has returned.
func (l *link) accept(serve func(*yamux.Stream, header)) {
	slots := make(chan struct{}, streamsMax)
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		slots <- struct{}{}
		stream, err := l.AcceptStream()
		if err != nil {
			return
		}
		wg.Go(func() {
			defer func() { <-slots }()
			stream.SetReadDeadline(time.Now().Add(headerWait))
			h, err := readHeader(stream)
			if err != nil {
				writeReply(stream, nil, err)
				stream.Close()
				return
			}
			stream.SetReadDeadline(time.Time{})
			serve(stream, h)
		})
	}
}

// meteredConn notes when something was last read.
type meteredConn struct {
	io.ReadWriteCloser
	r     *bufio.Reader
	last  atomic.Int64
	heard func()
	end   atomic.Pointer[error] // what the first failed read or write said
}

func (m *meteredConn) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	if n > 0 {
		m.last.Store(int64(sinceStart()))
		if m.heard != nil {
			m.heard()
		}
	}
	if err != nil {
		m.end.CompareAndSwap(nil, &err)
	}
	return n, err
}

func (m *meteredConn) Write(p []byte) (int, error) {
	n, err := m.ReadWriteCloser.Write(p)
	if err != nil {
		m.end.CompareAndSwap(nil, &err) // a read that it wakes only knows of the close that follows
	}
	return n, err
}

// why is the reason that the connection gave for its end, which says more than a stream's.
func (m *meteredConn) why(otherwise error) error {
	if end := m.end.Load(); end != nil {
		return *end
	}
	return otherwise
}

func (m *meteredConn) silence() time.Duration {
	return sinceStart() - time.Duration(m.last.Load())
}

var processStart = time.Now()

// sinceStart is the monotonic clock, as a number that fits an atomic.
func sinceStart() time.Duration { return time.Since(processStart) }
