package channel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berth-run/berth/internal/shardproto"
	"pgregory.net/rapid"
)

// fragile is a link that breaks after so many bytes in either direction, in the middle of whatever
// is under way there.
type fragile struct {
	io.ReadWriteCloser
	read, write atomic.Int64
}

func newFragile(c io.ReadWriteCloser, read, write int64) *fragile {
	f := &fragile{ReadWriteCloser: c}
	f.read.Store(read)
	f.write.Store(write)
	return f
}

func (f *fragile) Read(p []byte) (int, error) {
	return f.spend(&f.read, p, f.ReadWriteCloser.Read)
}

func (f *fragile) Write(p []byte) (int, error) {
	return f.spend(&f.write, p, f.ReadWriteCloser.Write)
}

func (f *fragile) spend(left *atomic.Int64, p []byte, do func([]byte) (int, error)) (int, error) {
	budget := left.Load()
	if budget <= 0 {
		f.Close()
		return 0, errors.New("link cut")
	}
	n, err := do(p[:min(int64(len(p)), budget)])
	if left.Add(-int64(n)) <= 0 && n < len(p) {
		f.Close()
		err = errors.Join(err, errors.New("link cut"))
	}
	return n, err
}

// TestEveryMessageOnceInOrder: whatever bytes the links break at, in either direction, both ends get
// every message of the other's, once, in order.
func TestEveryMessageOnceInOrder(t *testing.T) {
	budget := rapid.Int64Range(1, 6000)
	rapid.Check(t, func(rt *rapid.T) {
		down := rapid.IntRange(0, 60).Draw(rt, "messages down")
		up := rapid.IntRange(0, 60).Draw(rt, "messages up")
		cuts := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) [2]int64 {
			return [2]int64{budget.Draw(rt, "read"), budget.Draw(rt, "write")}
		}), 0, 6).Draw(rt, "cuts")
		s := newShard(t)
		defer s.Close()
		c, err := dialUntil(s.open(func(n int, conn io.ReadWriteCloser) io.ReadWriteCloser {
			if n < len(cuts) {
				return newFragile(conn, cuts[n][0], cuts[n][1])
			}
			return conn
		}), len(cuts)+1)
		if err != nil {
			rt.Fatal(err)
		}
		defer c.Close()
		failed := make(chan error, 4)
		go func() {
			failed <- sendAll(down, func(m shardproto.Message) error { return c.Send(context.Background(), m) })
		}()
		go func() {
			failed <- sendAll(up, func(m shardproto.Message) error { return s.Send(context.Background(), m) })
		}()
		go func() { failed <- expectAll(down, s.Messages()) }()
		go func() { failed <- expectAll(up, c.Messages()) }()
		for range 4 {
			if err := <-failed; err != nil {
				rt.Fatal(err, c.Err())
			}
		}
	})
}

// dialUntil dials until a link lives long enough to attach; Dial itself makes one try.
func dialUntil(open Opener, tries int) (*Client, error) {
	var err error
	for range tries {
		var c *Client
		if c, err = Dial(context.Background(), open, Options{}); err == nil {
			return c, nil
		}
	}
	return nil, err
}

func sendAll(n int, send func(shardproto.Message) error) error {
	for i := range n {
		if err := send(shardproto.Message{Type: "test", Collected: i + 1}); err != nil {
			return err
		}
	}
	return nil
}

func expectAll(n int, messages <-chan shardproto.Message) error {
	for i := range n {
		m, open := <-messages
		if !open || m.Collected != i+1 {
			return fmt.Errorf("message %d of %d is %+v (open: %v)", i+1, n, m, open)
		}
	}
	return nil
}

// TestBackpressure: with nobody reading, Send waits when the log is full, and loses nothing.
func TestBackpressure(t *testing.T) {
	s := newShard(t)
	c := dial(t, s.open(nil), Options{})
	if err := sendAll(logEntries, func(m shardproto.Message) error { return c.Send(t.Context(), m) }); err != nil {
		t.Fatal(err)
	}
	wait, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := c.Send(wait, shardproto.Message{Type: "test", Collected: logEntries + 1}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the log holds %d messages, and one more gave %v", logEntries, err)
	}
	s.cut()
	if err := expectAll(logEntries, s.Messages()); err != nil {
		t.Error(err)
	}
}

func TestCallsGoOnOverALostLink(t *testing.T) {
	s := newShard(t)
	c := dial(t, s.open(nil), Options{})
	for range 5 {
		s.cut()
		if err := c.Keep(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-s.kept
	}
}

// TestNewCoordinatorFencesOffTheOld: its streams are cut, it can't come back, and says why; the new
// one sees what the old had not taken.
func TestNewCoordinatorFencesOffTheOld(t *testing.T) {
	s := newShard(t)
	old := dial(t, s.open(nil), Options{})
	if err := s.Send(t.Context(), shardproto.Message{Type: "test", Collected: 1}); err != nil {
		t.Fatal(err)
	}
	if err := expectAll(1, old.Messages()); err != nil {
		t.Fatal(err)
	}
	for s.Unacknowledged() > 0 {
		<-time.After(time.Millisecond) // its acknowledgement is on the way
	}
	if err := s.Send(t.Context(), shardproto.Message{Type: "test", Collected: 1}); err != nil {
		t.Fatal(err)
	}
	interrupted := make(chan error, 1)
	r, w := io.Pipe()
	cmd := sh("echo up; sleep 600")
	cmd.Stdout = w
	go func() {
		_, err := old.Command(context.Background(), cmd)
		interrupted <- err
	}()
	if _, err := io.ReadFull(r, make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	next := dial(t, s.open(nil), Options{})
	if err := <-interrupted; !errors.Is(err, ErrInterrupted) {
		t.Errorf("the old coordinator's command = %v, want ErrInterrupted", err)
	}
	if err := old.Keep(t.Context()); !errors.Is(err, ErrStale) || !errors.Is(old.Err(), ErrStale) {
		t.Errorf("the old coordinator's next call = %v, Err = %v; want ErrStale", err, old.Err())
	}
	if err := expectAll(1, next.Messages()); err != nil {
		t.Error("the new coordinator:", err)
	}
	if err := next.Keep(t.Context()); err != nil {
		t.Error("the new coordinator:", err)
	}
}

func TestOldGenerationIsRefused(t *testing.T) {
	s := newShard(t)
	dial(t, s.open(nil), Options{Lease: "l", Generation: 5})
	if _, err := Dial(t.Context(), s.open(nil), Options{Lease: "l", Generation: 5}); !errors.Is(err, ErrStale) {
		t.Errorf("Dial = %v, want ErrStale", err)
	}
}

func TestLinkIsGivenUp(t *testing.T) {
	exited := fmt.Errorf("%w: exit status 1", ErrGone)
	tests := map[string]struct {
		again error
		o     Options
		want  error
	}{
		"in time":       {errors.New("no route"), Options{ReopenFor: 50 * time.Millisecond}, ErrLost},
		"shard is gone": {exited, Options{}, ErrGone},
		"never":         {nil, Options{ReopenFor: -1}, ErrLost},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newShard(t)
			open, first := s.open(nil), true
			c := dial(t, func(ctx context.Context) (io.ReadWriteCloser, error) {
				if !first {
					return nil, tt.again
				}
				first = false
				return open(ctx)
			}, tt.o)
			if err := s.Send(t.Context(), shardproto.Message{Type: "test", Collected: 1}); err != nil {
				t.Fatal(err)
			}
			for c.in.Seen() == 0 {
				<-time.After(time.Millisecond) // it's on the way
			}
			s.cut()
			<-c.ctx.Done()
			if err := expectAll(1, c.Messages()); err != nil {
				t.Errorf("what had come before the link was lost: %v", err)
			}
			if _, open := <-c.Messages(); open {
				t.Error("Messages is open")
			}
			if err := c.Keep(t.Context()); !errors.Is(err, tt.want) || !errors.Is(c.Err(), tt.want) {
				t.Errorf("Keep = %v, Err = %v; want %v", err, c.Err(), tt.want)
			}
			if _, err := c.Tunnel().Accept(); !errors.Is(err, net.ErrClosed) {
				t.Errorf("Tunnel.Accept = %v, want net.ErrClosed", err)
			}
		})
	}
}

// TestSilentLink: a link that swallows everything is noticed at both ends, and replaced.
func TestSilentLink(t *testing.T) {
	t.Parallel()
	s := newShard(t)
	// Long enough for a link that is well to be heard, on a machine that is busy, too.
	s.opts.Timing = Timing{KeepAlive: 100 * time.Millisecond, Silence: 10 * time.Second}
	hole := &blackHole{}
	c := dial(t, s.open(func(n int, conn io.ReadWriteCloser) io.ReadWriteCloser {
		if n == 0 {
			hole.ReadWriteCloser = conn
			return hole
		}
		return conn
	}), Options{Timing: s.opts.Timing})
	s.Server.mu.Lock()
	first := s.cur
	s.Server.mu.Unlock()
	hole.on.Store(true)
	<-first.link.CloseChan() // the worker's end
	if err := c.Keep(t.Context()); err != nil {
		t.Errorf("Keep over the next link: %v", err)
	}
}

type blackHole struct {
	io.ReadWriteCloser
	on atomic.Bool
}

func (b *blackHole) Write(p []byte) (int, error) {
	if b.on.Load() {
		return len(p), nil
	}
	return b.ReadWriteCloser.Write(p)
}

func (b *blackHole) Read(p []byte) (int, error) {
	for {
		n, err := b.ReadWriteCloser.Read(p)
		if err != nil || !b.on.Load() {
			return n, err
		}
	}
}
