package channel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/berth-run/berth/internal/shardproto"
	"github.com/hashicorp/yamux"
)

// Client is the coordinator's end. Its methods are safe for concurrent use.
type Client struct {
	open     Opener
	opts     Options
	out      *Log
	in       *Inbox
	messages chan shardproto.Message
	tunnel   *tunnelListener

	ctx    context.Context // ends with the Client
	cancel context.CancelCauseFunc
	done   chan struct{}   // run has ended
	closed context.Context // ends with Close, which drops what Messages still had to give
	close  context.CancelFunc

	mu         sync.Mutex
	cur        *link // nil while a lost link is being opened again
	changed    chan struct{}
	generation uint64
	attached   bool // once, ever: the Inbox has its start
	version    string

	bulkFailed atomic.Bool
}

var _ Shard = (*Client)(nil)

// Dial opens the first link and attaches. It makes one try: whether the shard is ready to be
// attached to is known by then, and what is wrong with it is better said at once.
func Dial(ctx context.Context, open Opener, o Options) (*Client, error) {
	o = o.orDefault()
	c := &Client{
		open: open, opts: o, out: NewLog(), in: NewInbox(),
		messages: make(chan shardproto.Message), tunnel: newTunnelListener(),
		done: make(chan struct{}), changed: make(chan struct{}), generation: o.Generation - 1,
	}
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	c.closed, c.close = context.WithCancel(context.Background())
	first, err := c.attach(ctx)
	if err != nil {
		c.cancel(err)
		return nil, err
	}
	c.setLink(first)
	go c.run(first)
	go c.deliver()
	return c, nil
}

// attachedLink is a link whose attach stream carries the messages.
type attachedLink struct {
	*link
	stream *yamux.Stream
	// peerSeen is the last message of ours that the worker has.
	peerSeen uint64
}

// attach makes one try to open a link and become the shard's coordinator.
func (c *Client) attach(ctx context.Context) (*attachedLink, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.opts.AttachTimeout,
		fmt.Errorf("no answer from the shard's worker in %s", c.opts.AttachTimeout))
	defer cancel()
	conn, err := c.open(ctx)
	if err != nil {
		return nil, fmt.Errorf("open channel: %w", err)
	}
	l, err := newLink(conn, false, c.opts.Timing, nil)
	if err != nil {
		return nil, fmt.Errorf("open channel: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { l.Close() })
	a, err := c.handshake(l)
	if !stop() && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		if answered := new(remoteError); l.ended() && ctx.Err() == nil && !errors.As(err, &answered) {
			err = fmt.Errorf("the shard's worker hung up: %w", l.conn.why(err))
		}
		l.Close()
		return nil, fmt.Errorf("attach to the shard: %w", err)
	}
	return a, nil
}

func (c *Client) handshake(l *link) (*attachedLink, error) {
	stream, err := l.OpenStream()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.generation++
	r := attachRequest{Protocol: protocol, Lease: c.opts.Lease, Generation: c.generation}
	if c.attached {
		seen := c.in.Seen()
		r.Seen = &seen
	}
	c.mu.Unlock()
	if err := writeHeader(stream, header{Op: opAttach, Attach: &r}); err != nil {
		return nil, err
	}
	var answer attachReply
	if err := readReply(stream, &answer); err != nil {
		return nil, err
	}
	if err := c.out.check(answer.Seen); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.attached {
		c.in.Reset(answer.Start)
		c.attached = true
	}
	c.version = answer.Version
	return &attachedLink{link: l, stream: stream, peerSeen: answer.Seen}, nil
}

// run keeps a link open until the Client is closed or the shard is given up.
func (c *Client) run(l *attachedLink) {
	defer close(c.done)
	for {
		c.serve(l)
		c.setLink(nil)
		var err error
		if l, err = c.reopen(); err != nil {
			c.giveUp(err)
			return
		}
		c.setLink(l)
	}
}

// serve carries messages and tunnels over one link until it ends.
func (c *Client) serve(l *attachedLink) {
	stop := context.AfterFunc(c.ctx, func() { l.Close() })
	defer stop()
	go l.accept(c.tunnel.serve)
	exchange(l.ctx, l.stream, c.out, c.in, l.peerSeen)
	l.Close()
}

// reopen tries until ReopenFor has passed, or the answer is final.
func (c *Client) reopen() (*attachedLink, error) {
	if c.opts.ReopenFor < 0 {
		return nil, ErrLost
	}
	ctx, cancel := context.WithTimeout(c.ctx, c.opts.ReopenFor)
	defer cancel()
	var last error
	for wait := backoffFirst; ; wait = min(2*wait, backoffLast) {
		l, err := c.attach(ctx)
		if err == nil {
			return l, nil
		}
		if last == nil || ctx.Err() == nil {
			last = err
		}
		switch {
		case c.ctx.Err() != nil:
			return nil, context.Cause(c.ctx)
		case errors.Is(err, ErrStale), errors.Is(err, ErrProtocol), errors.Is(err, ErrGone):
			return nil, err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			if c.ctx.Err() != nil {
				return nil, context.Cause(c.ctx)
			}
			return nil, fmt.Errorf("%w and not opened again in %s: %w", ErrLost, c.opts.ReopenFor, last)
		}
	}
}

func (c *Client) giveUp(err error) {
	c.cancel(err)
	c.in.End()
	c.tunnel.Close()
}

func (c *Client) setLink(l *attachedLink) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cur = nil
	if l != nil {
		c.cur = l.link
	}
	broadcast(&c.changed)
}

// link waits for the link, whichever it is.
func (c *Client) link(ctx context.Context) (l *link, err error) {
	ctx, stop := c.until(ctx)
	defer stop()
	err = await(ctx, &c.mu, &c.changed, func() bool {
		l = c.cur
		return l != nil && !l.IsClosed()
	})
	return l, err
}

// until is ctx that also ends with the Client.
func (c *Client) until(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(c.ctx, func() { cancel(context.Cause(c.ctx)) })
	return ctx, func() { stop(); cancel(nil) }
}

// deliver decodes the worker's messages for Messages. When the shard is given up, what it had said
// is still given.
func (c *Client) deliver() {
	defer close(c.messages)
	if err := c.in.deliver(c.closed, decodeTo(c.closed, c.messages)); !errors.Is(err, io.EOF) {
		c.cancel(err) // nothing, where it has ended already
	}
}

// decodeTo decodes messages into a channel.
func decodeTo(ctx context.Context, to chan<- shardproto.Message) func([]byte) error {
	return func(b []byte) error {
		var m shardproto.Message
		if err := json.Unmarshal(b, &m); err != nil {
			return fmt.Errorf("%w: message: %w", ErrProtocol, err)
		}
		select {
		case to <- m:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Messages implements Shard.
func (c *Client) Messages() <-chan shardproto.Message { return c.messages }

// Send implements Shard. It returns when the message is queued, and waits only when the worker is
// far behind.
func (c *Client) Send(ctx context.Context, m shardproto.Message) error {
	b, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	ctx, stop := c.until(ctx)
	defer stop()
	return c.out.Append(ctx, b)
}

// Tunnel implements Shard.
func (c *Client) Tunnel() net.Listener { return c.tunnel }

// WorkerVersion is the version of the worker at the other end, known since Dial.
func (c *Client) WorkerVersion() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.version
}

// Err implements Shard.
func (c *Client) Err() error {
	if err := context.Cause(c.ctx); err != nil && !errors.Is(err, ErrClosed) {
		return err
	}
	return nil
}

// Close ends the link and every call. The shard lives on until its dead man's switch.
func (c *Client) Close() error {
	c.close()
	c.giveUp(ErrClosed)
	<-c.done
	return nil
}
