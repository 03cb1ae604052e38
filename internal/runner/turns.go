package runner

import (
	"context"
	"sync"
	"time"

	"github.com/berth-run/berth/internal/shardproto"
)

// turns are the trials that a worker has asked for: those that wait for a place under the run's
// limits, and those that were granted one. Only the waiting goes on beside the collector's loop,
// which takes what was won from a channel; so nothing else here needs a lock.
type turns struct {
	places  *quota
	asked   map[shardproto.Key]context.CancelFunc
	running map[shardproto.Key]running
	won     chan turn
	waiting sync.WaitGroup
}

// turn is a trial that has its places.
type turn struct {
	key     shardproto.Key
	release func()
}

// running is a trial that was granted.
type running struct {
	release func() // gives the places back
	since   time.Time
}

func newTurns(places *quota) *turns {
	return &turns{
		places: places, won: make(chan turn),
		asked: map[shardproto.Key]context.CancelFunc{}, running: map[shardproto.Key]running{},
	}
}

// has tells whether a trial was asked for and isn't over.
func (t *turns) has(key shardproto.Key) bool {
	_, runs := t.running[key]
	return t.asked[key] != nil || runs
}

// ask waits, aside, for a place under every name, until the trial is over or ctx ends.
func (t *turns) ask(ctx context.Context, key shardproto.Key, names []string) {
	ctx, cancel := context.WithCancel(ctx)
	t.asked[key] = cancel
	t.waiting.Go(func() {
		release, err := t.places.acquire(ctx, names)
		if err != nil {
			return
		}
		select {
		case t.won <- turn{key, release}:
		case <-ctx.Done():
			release()
		}
	})
}

// begin takes a turn from won; false when its trial is over already.
func (t *turns) begin(won turn) bool {
	cancel := t.asked[won.key]
	if cancel == nil {
		won.release()
		return false
	}
	cancel()
	delete(t.asked, won.key)
	t.running[won.key] = running{won.release, time.Now()}
	return true
}

// over ends a trial's turn, whether it had come or not.
func (t *turns) over(key shardproto.Key) {
	if cancel := t.asked[key]; cancel != nil {
		cancel()
		delete(t.asked, key)
	}
	if r, ok := t.running[key]; ok {
		r.release()
		delete(t.running, key)
	}
}

// end gives every place back and returns the trials that were running.
func (t *turns) end() []shardproto.Key {
	var cut []shardproto.Key
	for key := range t.running {
		cut = append(cut, key)
		t.over(key)
	}
	for key := range t.asked {
		t.over(key)
	}
	t.waiting.Wait()
	return cut
}
