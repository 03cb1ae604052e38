package channel

import (
	"context"
	"fmt"
	"sync"
)

// Bounds of a Log, and so of the Inbox at the other end, which never holds more than the Log may.
const (
	logEntries = 1024
	logBytes   = 8 << 20
)

// Log is one end's outgoing messages: numbered from 1, kept until the other end has acknowledged
// them, so that a new link can go on where the old one was cut. A full Log makes Append wait.
type Log struct {
	mu      sync.Mutex
	entries [][]byte // entries[i] is number acked+1+i
	acked   uint64
	bytes   int
	changed chan struct{}
}

// NewLog gives an empty Log.
func NewLog() *Log { return &Log{changed: make(chan struct{})} }

// Append numbers an entry, waiting while the Log is full. The Log keeps b.
func (l *Log) Append(ctx context.Context, b []byte) error {
	if len(b) > messageMax {
		return fmt.Errorf("%w: a message of %d bytes; %d is the most", ErrInvalid, len(b), messageMax)
	}
	return await(ctx, &l.mu, &l.changed, func() bool {
		if len(l.entries) >= logEntries || (l.bytes > 0 && l.bytes+len(b) > logBytes) {
			return false
		}
		l.entries = append(l.entries, b)
		l.bytes += len(b)
		broadcast(&l.changed)
		return true
	})
}

// Get waits for entry n. An entry that was acknowledged is gone: asking for it is ErrProtocol.
func (l *Log) Get(ctx context.Context, n uint64) (entry []byte, err error) {
	gone := false
	err = await(ctx, &l.mu, &l.changed, func() bool {
		if n <= l.acked {
			gone = true
			return true
		}
		if n > l.acked+uint64(len(l.entries)) {
			return false
		}
		entry = l.entries[n-l.acked-1]
		return true
	})
	if gone {
		err = fmt.Errorf("%w: message %d was acknowledged and is wanted again", ErrProtocol, n)
	}
	return entry, err
}

// Ack lets go of every entry up to n.
func (l *Log) Ack(n uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n <= l.acked {
		return nil
	}
	if n > l.acked+uint64(len(l.entries)) {
		return fmt.Errorf("%w: message %d acknowledged before it was sent", ErrProtocol, n)
	}
	for _, b := range l.entries[:n-l.acked] {
		l.bytes -= len(b)
	}
	l.entries = append([][]byte(nil), l.entries[n-l.acked:]...)
	l.acked = n
	broadcast(&l.changed)
	return nil
}

// Acked is the last number that was acknowledged.
func (l *Log) Acked() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.acked
}

// Len counts the entries that wait for an acknowledgement.
func (l *Log) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.entries)
}

// check refuses a place to resume from that this Log can't have given out.
func (l *Log) check(seen uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if seen < l.acked || seen > l.acked+uint64(len(l.entries)) {
		return fmt.Errorf("%w: resume after message %d of %d to %d", ErrProtocol, seen, l.acked, l.acked+uint64(len(l.entries)))
	}
	return nil
}

// await runs try under mu whenever something changed, until it returns true or ctx ends.
func await(ctx context.Context, mu *sync.Mutex, changed *chan struct{}, try func() bool) error {
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		mu.Lock()
		done, wake := try(), *changed
		mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-wake:
		case <-ctx.Done():
		}
	}
}

// broadcast wakes every await on changed. The caller holds the mutex.
func broadcast(changed *chan struct{}) {
	close(*changed)
	*changed = make(chan struct{})
}
