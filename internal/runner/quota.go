package runner

import (
	"context"
	"sync"
)

// quota bounds how many trials run at once, across all shards, for each provider and MCP server
// that the eval config's `limits` names. A trial takes all of its places together or none, so two
// trials never hold half of what the other waits for.
type quota struct {
	mu    sync.Mutex
	free  map[string]int
	freed chan struct{} // closed and replaced whenever a place comes back
}

func newQuota(limits map[string]int) *quota {
	free := make(map[string]int, len(limits))
	for name, n := range limits {
		free[name] = n
	}
	return &quota{free: free, freed: make(chan struct{})}
}

// acquire waits for a place under every name that is limited; release gives them back, once.
func (q *quota) acquire(ctx context.Context, names []string) (release func(), err error) {
	for {
		held, wait := q.try(names)
		if wait == nil {
			return sync.OnceFunc(func() { q.giveBack(held) }), nil
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// try takes the places and returns them, or returns what to wait for.
func (q *quota) try(names []string) (held []string, wait <-chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, name := range names {
		n, limited := q.free[name]
		if !limited {
			continue
		}
		if n == 0 {
			return nil, q.freed
		}
		held = append(held, name)
	}
	for _, name := range held {
		q.free[name]--
	}
	return held, nil
}

func (q *quota) giveBack(held []string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, name := range held {
		q.free[name]++
	}
	close(q.freed)
	q.freed = make(chan struct{})
}
