package podman

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/internal/capacity"
)

// memoryAge is how long what a remote engine said of its memory is good for: Podman takes up to a second
// for it, with all else that it says of itself.
const memoryAge = 10 * time.Second

// memory is the machine's that shards run on.
type memory struct {
	// here: the engine is on this machine, which tells more, and at once.
	here bool

	mu    sync.Mutex
	last  backends.Memory
	asked time.Time
}

// newMemory begins with what the engine has just said. A socket may be that of a machine inside of this
// one, which then has another size.
func newMemory(remote bool, h hostInfo) *memory {
	whole, err := capacity.Whole()
	return &memory{
		here: !remote && err == nil && whole.Total == h.MemTotal,
		last: h.memory(), asked: time.Now(),
	}
}

func (h hostInfo) memory() backends.Memory {
	return backends.Memory{Total: h.MemTotal, Free: h.MemFree, Least: true}
}

// Memory implements backends.Backend.
func (b *Backend) Memory(ctx context.Context) (backends.Memory, error) {
	m := b.memory
	if m.here {
		local, err := capacity.Local()
		return backends.Memory{Total: local.Total, Free: local.Free}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if time.Since(m.asked) < memoryAge {
		return m.last, nil
	}
	var r infoResponse
	if err := b.api.get(ctx, "/info", nil, &r); err != nil {
		return backends.Memory{}, fmt.Errorf("asking Podman for its memory: %w", explain(err))
	}
	m.last, m.asked = r.Host.memory(), time.Now()
	return m.last, nil
}
