package rollout

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/berth-run/berth/internal/clock"
)

// Criteria say which turn is a prompt's.
type Criteria struct {
	Originator string
	Prompt     string
	// Allowed are the ways in which the recorded prompt may equal Prompt.
	Allowed []Match
	// SessionID, where the client knows it beforehand, leaves no choice; "" takes any.
	SessionID string
	// Since is when the prompt was handed over. Codex counts a turn's start in whole seconds.
	Since time.Time
	// Labels are the variant's MCP servers.
	Labels []string
}

// Bound is the turn that belongs to a prompt.
type Bound struct {
	Rollout *Rollout
	Turn    *Turn
	Match   Match
}

// Binder looks for a prompt's turn among the records that a snapshot doesn't have.
type Binder struct {
	snapshot Snapshot
	criteria Criteria
	open     map[string]*Rollout
	now      func() time.Time
}

// NewBinder binds by c. The snapshot must have been taken before the prompt was handed over.
func NewBinder(s Snapshot, c Criteria) *Binder {
	return &Binder{snapshot: s, criteria: c, open: map[string]*Rollout{}, now: time.Now}
}

// Poll reads on and gives the turn, or nil while there is none. More than one turn that meets the
// criteria is ErrAmbiguous.
func (b *Binder) Poll() (*Bound, error) {
	paths, err := b.snapshot.New()
	if err != nil {
		return nil, err
	}
	var found *Bound
	for _, path := range paths {
		bound, err := b.look(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if bound != nil && found != nil {
			return nil, fmt.Errorf("%w: in two records", ErrAmbiguous)
		}
		if bound != nil {
			found = bound
		}
	}
	return found, nil
}

func (b *Binder) look(path string) (*Bound, error) {
	r := b.open[path]
	if r == nil {
		r = Open(path, b.criteria.Labels)
		b.open[path] = r
	}
	if _, err := r.Poll(); err != nil {
		return nil, err
	}
	if !b.mayHold(r.Meta()) {
		return nil, nil
	}
	var found *Bound
	for _, t := range r.Turns() {
		m := b.match(t)
		if m == "" {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("%w: two turns of one session", ErrAmbiguous)
		}
		found = &Bound{Rollout: r, Turn: t, Match: m}
	}
	return found, nil
}

func (b *Binder) mayHold(m Meta) bool {
	return m.SessionID != "" && m.Originator == b.criteria.Originator && !m.Subagent &&
		(b.criteria.SessionID == "" || m.SessionID == b.criteria.SessionID)
}

// since is when the prompt was handed over, by the clock as it was or as it is, whichever is earlier: if it was
// set meanwhile, a record may have either.
func (b *Binder) since() time.Time {
	then := b.criteria.Since.Round(0)
	if seen := clock.Seen(b.criteria.Since, b.now()); seen.Before(then) {
		return seen
	}
	return then
}

func (b *Binder) match(t *Turn) Match {
	if !t.HasPrompt || t.StartedAt.Before(b.since().Truncate(time.Second)) {
		return ""
	}
	return MatchPrompt(b.criteria.Prompt, t.Prompt, b.criteria.Allowed...)
}
