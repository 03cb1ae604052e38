package channel

import (
	"context"
	"fmt"
	"io"
	"sync"
)

// Inbox is one end's incoming messages: whatever links they came over, each is taken once, in
// order. A message is acknowledged when it's taken, so the sender's bound is this end's too.
type Inbox struct {
	mu      sync.Mutex
	queue   []*received
	bytes   int
	seen    uint64 // the last number that is in
	taken   uint64 // the last number that was taken out
	ended   bool
	changed chan struct{}
}

// received is one message that is in and not taken yet.
type received struct{ message []byte }

// NewInbox gives an empty Inbox.
func NewInbox() *Inbox { return &Inbox{changed: make(chan struct{})} }

// Reset empties the Inbox and expects the message after start next.
func (i *Inbox) Reset(start uint64) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.queue, i.bytes, i.seen, i.taken = nil, 0, start, start
	broadcast(&i.changed)
}

// Put takes message n in. One that is in already is dropped; a gap, or more than a Log may have
// open, is ErrProtocol.
func (i *Inbox) Put(n uint64, b []byte) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if n <= i.seen {
		return nil
	}
	if n != i.seen+1 {
		return fmt.Errorf("%w: message %d after %d", ErrProtocol, n, i.seen)
	}
	if len(i.queue) >= logEntries || (i.bytes > 0 && i.bytes+len(b) > logBytes) {
		return fmt.Errorf("%w: too many messages at once", ErrProtocol)
	}
	i.queue = append(i.queue, &received{b})
	i.bytes += len(b)
	i.seen = n
	broadcast(&i.changed)
	return nil
}

// next waits for the next message. It stays in until take: a consumer that never gets it must not
// have acknowledged it. io.EOF: End was called and nothing is left.
func (i *Inbox) next(ctx context.Context) (r *received, err error) {
	err = await(ctx, &i.mu, &i.changed, func() bool {
		if len(i.queue) > 0 {
			r = i.queue[0]
		}
		return r != nil || i.ended
	})
	if err == nil && r == nil {
		err = io.EOF
	}
	return r, err
}

// End says that no more will come.
func (i *Inbox) End() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.ended = true
	broadcast(&i.changed)
}

// take lets go of what next gave, which acknowledges it. After a Reset it does nothing.
func (i *Inbox) take(r *received) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.queue) == 0 || i.queue[0] != r {
		return
	}
	i.queue[0] = nil
	i.queue = i.queue[1:]
	i.bytes -= len(r.message)
	i.taken++
	broadcast(&i.changed)
}

// deliver gives every message to one, in order, until that refuses or ctx ends.
func (i *Inbox) deliver(ctx context.Context, one func([]byte) error) error {
	for {
		r, err := i.next(ctx)
		if err != nil {
			return err
		}
		if err := one(r.message); err != nil {
			return err
		}
		i.take(r)
	}
}

// Seen is the last number that is in.
func (i *Inbox) Seen() uint64 {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.seen
}

// Taken waits until more than after was taken, and tells how far.
func (i *Inbox) Taken(ctx context.Context, after uint64) (n uint64, err error) {
	err = await(ctx, &i.mu, &i.changed, func() bool {
		n = i.taken
		return n > after
	})
	return n, err
}
