package containerd

import (
	"context"
	"sync"
)

// turns keep what changes one shard apart: a removal in the middle of its start would take the container away
// before there is a task, and containerd deletes no task, nor its mounts, of a container that isn't there.
type turns struct {
	mu   sync.Mutex
	busy map[string]chan struct{} // closed when its turn is over
}

// take waits for the turn of a shard.
func (t *turns) take(ctx context.Context, id string) (release func(), err error) {
	for {
		over := t.claim(id)
		if over == nil {
			return func() { t.release(id) }, nil
		}
		select {
		case <-over:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// claim takes the turn, or gives what tells when another's is over.
func (t *turns) claim(id string) (over <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if over, ok := t.busy[id]; ok {
		return over
	}
	if t.busy == nil {
		t.busy = map[string]chan struct{}{}
	}
	t.busy[id] = make(chan struct{})
	return nil
}

func (t *turns) release(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	close(t.busy[id])
	delete(t.busy, id)
}

// turn waits for the shard's, and then for a place among those that change one at all.
func (s *shard) turn(ctx context.Context) (release func(), err error) {
	over, err := s.backend.turns.take(ctx, s.id)
	if err != nil {
		return nil, err
	}
	place, err := s.backend.slots.take(ctx)
	if err != nil {
		over()
		return nil, err
	}
	return func() { place(); over() }, nil
}
