package capacity

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Gate lets shards start as long as there is memory for all that those which are in may take. One may
// always be in, so a run goes on whatever a machine has. Those that wait go in by the order of their
// coming.
//
// How much of their memory the shards in it have taken already can't be told from what others on the
// machine took. So the gate keeps a budget, the memory for all of its shards together: what was free
// before the first, as long as what is free now can be true with that. What is free now belongs to it in
// any case, and more than that and all that its shards may hold can't be there.
type Gate struct {
	// Each is what a shard may take, in bytes.
	Each int64
	// Free tells how many bytes are free now. While it can't, nobody waits.
	Free func(context.Context) (int64, error)
	// Waits is told, once, when a shard has to wait: how many have room, and why not more. It may be nil.
	Waits func(room int, why string)
	// Look is how often a shard that waits looks whether others on the machine left; 0 is 3 s.
	Look time.Duration

	once  sync.Once
	turn  chan struct{} // held by the one that is next
	freed chan struct{} // has one when a shard left since the last look

	mu     sync.Mutex
	budget int64
	in     int // shards that have room; held are those that went and left theirs taken
	held   int
	told   bool
}

const defaultLook = 3 * time.Second

func (g *Gate) init() {
	g.turn, g.freed = make(chan struct{}, 1), make(chan struct{}, 1)
	if g.Look <= 0 {
		g.Look = defaultLook
	}
}

// Enter waits for room for one more shard. leave gives it back, once; with stays the shard goes on taking
// its memory, but nobody waits for its end.
func (g *Gate) Enter(ctx context.Context) (leave func(stays bool), err error) {
	g.once.Do(g.init)
	select {
	case g.turn <- struct{}{}:
		defer func() { <-g.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	for !g.admit(ctx) {
		select {
		case <-g.freed:
		case <-time.After(g.Look):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	var once sync.Once
	return func(stays bool) { once.Do(func() { g.leave(stays) }) }, nil
}

func (g *Gate) admit(ctx context.Context) bool {
	free, err := g.Free(ctx)
	g.mu.Lock()
	defer g.mu.Unlock()
	if err == nil {
		g.measure(free)
		if g.in > 0 && !g.fits(free) {
			g.tell(free)
			return false
		}
	}
	g.in++
	return true
}

// measure brings the budget between what is free now and that with all that the shards may hold.
func (g *Gate) measure(free int64) {
	taken := int64(g.in+g.held) * g.Each
	if g.in+g.held == 0 {
		g.budget = free
	}
	g.budget = min(max(g.budget, free), free+taken)
}

// fits tells whether the next shard may take all of its memory, now, and with it all of the others.
func (g *Gate) fits(free int64) bool {
	all := int64(g.in+g.held+1) * g.Each
	return free-spare >= g.Each && g.budget-spare >= all
}

func (g *Gate) tell(free int64) {
	if g.told || g.Waits == nil {
		return
	}
	g.told = true
	g.Waits(g.in, fmt.Sprintf("%s of memory are free at this moment, and each may take %s", Size(free), Size(g.Each)))
}

func (g *Gate) leave(stays bool) {
	g.mu.Lock()
	g.in--
	if stays {
		g.held++
	}
	g.mu.Unlock()
	select {
	case g.freed <- struct{}{}:
	default:
	}
}
