package runner

import (
	"bytes"
	"context"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/berth-run/berth/internal/capacity"
	"github.com/berth-run/berth/internal/channel"
)

// room is the memory that a run's shards start by.
type room struct {
	*capacity.Gate

	mu    sync.Mutex
	links map[channel.Shard]bool
}

// newRoom lets shards start as far as the machine's memory goes.
func (r *Run) newRoom(log *progress) *room {
	m := &room{links: map[channel.Shard]bool{}}
	m.Gate = &capacity.Gate{
		Each: r.Spec.Memory(),
		Free: func(ctx context.Context) (int64, error) {
			memory, err := r.Backend.Memory(ctx)
			if err == nil && memory.Least {
				memory.Free = max(memory.Free, m.inside(ctx))
			}
			return memory.Free, err
		},
		Waits: func(room int, why string) {
			log.printf("there is memory for %d of %d shards (%s): the others start when there is more; --runner-option memory= and shards= choose otherwise", room, max(1, len(r.Bundles)), why)
		},
	}
	return m
}

// linked notes a shard that can be asked, until forget.
func (m *room) linked(l channel.Shard) (forget func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.links[l] = true
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.links, l)
	}
}

const (
	// insideWithin bounds the wait for a shard's answer.
	insideWithin = 10 * time.Second
	// mostMeminfo bounds that answer.
	mostMeminfo = 64 << 10
)

// inside is what memory is free as a shard's kernel, the machine's, says; 0 when none can tell.
func (m *room) inside(ctx context.Context) int64 {
	m.mu.Lock()
	links := slices.Collect(maps.Keys(m.links))
	m.mu.Unlock()
	for _, l := range links {
		ctx, cancel := context.WithTimeout(ctx, insideWithin)
		var out bytes.Buffer
		res, err := l.Command(ctx, channel.Command{Args: []string{"/bin/cat", "/proc/meminfo"}, Stdout: &limited{w: &out, n: mostMeminfo}})
		cancel()
		if err != nil || res.Code != 0 {
			continue
		}
		if memory, err := capacity.Meminfo(out.Bytes()); err == nil {
			return memory.Free
		}
	}
	return 0
}

// limited takes n bytes and refuses more.
type limited struct {
	w io.Writer
	n int
}

func (l *limited) Write(p []byte) (int, error) {
	if len(p) > l.n {
		return 0, io.ErrShortWrite
	}
	l.n -= len(p)
	return l.w.Write(p)
}
