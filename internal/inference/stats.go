package inference

import (
	"io"
	"maps"
	"sync"
)

// Stats counts one shard's requests to the gateway, for the record. It holds no text of theirs.
type Stats struct {
	Requests int `json:"requests"`
	// Statuses counts the gateway's own answers by HTTP status.
	Statuses map[int]int `json:"statuses"`
	// Failures counts those it didn't answer, by phase.
	Failures map[string]int `json:"failures,omitempty"`
	// GivenUp counts those that the shard ended before there was an answer.
	GivenUp int `json:"givenUp,omitempty"`
	// Refused counts those that weren't passed on: another path, or a wrong ticket.
	Refused int `json:"refused,omitempty"`
	// SentBytes and ReceivedBytes are of the bodies.
	SentBytes     int64 `json:"sentBytes"`
	ReceivedBytes int64 `json:"receivedBytes"`
}

// Stats gives a shard's counts so far.
func (w *Way) Stats(index int) Stats { return w.shard(index).stats.snapshot() }

type counter struct {
	mu sync.Mutex
	s  Stats
}

func (c *counter) add(f func(*Stats)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.s.Statuses == nil {
		c.s.Statuses, c.s.Failures = map[int]int{}, map[string]int{}
	}
	f(&c.s)
}

func (c *counter) snapshot() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.s
	s.Statuses, s.Failures = maps.Clone(s.Statuses), maps.Clone(s.Failures)
	return s
}

// counted is a body that adds what is read of it to one of the counts.
type counted struct {
	io.ReadCloser
	count func(n int64)
}

func (b counted) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.count(int64(n))
	return n, err
}
