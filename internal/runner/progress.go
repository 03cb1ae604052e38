package runner

import (
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/berth-run/berth/internal/code"
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
	line := code.Line(p.secrets.String(fmt.Sprintf(format, args...)))
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintln(p.w, "[berth]", line)
}

// shardProgress is a progress whose lines name the shard.
type shardProgress struct {
	*progress
	prefix string
}

func (p *progress) shard(s shardproto.Shard) shardProgress {
	return shardProgress{p, "shard " + ordinal(s) + ": "}
}

func (p shardProgress) printf(format string, args ...any) {
	p.progress.printf("%s", p.prefix+fmt.Sprintf(format, args...))
}

// ordinal counts shards from 1, as people do.
func ordinal(s shardproto.Shard) string { return fmt.Sprintf("%d/%d", s.Index+1, s.Count) }

// stops tells why shards stopped, each reason once: a gateway that is down is so for every shard.
// As long as no shard has started they are held back. If none ever does, the run's own error says
// why, and here it isn't said again.
type stops struct {
	log *progress

	mu      sync.Mutex
	started bool
	held    []stop
	said    map[string]shardproto.Shard // by the reason's text: the shard it was said of
}

type stop struct {
	shard shardproto.Shard
	text  string
}

func newStops(p *progress) *stops { return &stops{log: p, said: map[string]shardproto.Shard{}} }

// begin notes that a shard has started.
func (s *stops) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started = true
	s.flush()
}

func (s *stops) begun() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.started
}

func (s *stops) add(shard shardproto.Shard, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = append(s.held, stop{shard, err.Error()})
	if s.started {
		s.flush()
	}
}

// close tells what is still held, but for what the caller tells.
func (s *stops) close(callers error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if callers != nil {
		s.held = slices.DeleteFunc(s.held, func(h stop) bool { return h.text == callers.Error() })
	}
	s.flush()
}

func (s *stops) flush() {
	for _, h := range s.held {
		say := s.log.shard(h.shard)
		if first, again := s.said[h.text]; again {
			say.printf("stopped, for the same reason as shard %s", ordinal(first))
			continue
		}
		s.said[h.text] = h.shard
		say.printf("stopped: %s", h.text)
	}
	s.held = nil
}
