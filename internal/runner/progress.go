package runner

import (
	"fmt"
	"io"
	"sync"

	"github.com/berth-run/berth/internal/redact"
	"github.com/berth-run/berth/internal/shardproto"
)

// progress writes the run's lines for a person, whole lines at a time, redacted.
type progress struct {
	mu      sync.Mutex
	w       io.Writer
	secrets *redact.Set
}

func newProgress(w io.Writer, secrets *redact.Set) *progress {
	if w == nil {
		w = io.Discard
	}
	return &progress{w: w, secrets: secrets}
}

func (p *progress) printf(format string, args ...any) {
	line := p.secrets.String(fmt.Sprintf("[berth] "+format, args...))
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintln(p.w, line)
}

// shard is a progress whose lines name the shard, counted from 1 as people do.
type shardProgress struct {
	*progress
	prefix string
}

func (p *progress) shard(s shardproto.Shard) shardProgress {
	return shardProgress{p, fmt.Sprintf("shard %d/%d: ", s.Index+1, s.Count)}
}

func (p shardProgress) printf(format string, args ...any) {
	p.progress.printf("%s", p.prefix+fmt.Sprintf(format, args...))
}
