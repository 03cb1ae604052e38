package owner

import (
	"context"
	"errors"
	"fmt"

	"github.com/berth-run/berth/backends"
)

// Swept is a shard that a sweep removed, or would remove.
type Swept struct {
	ID   string
	Name string
	Shard
}

// Sweep removes the shards whose owner is provably dead and that aren't kept; with dryRun it only
// tells them. What can't be removed doesn't stop the rest: the errors come joined, beside what was.
func Sweep(ctx context.Context, b backends.Backend, dryRun bool) ([]Swept, error) {
	o, err := here()
	if err != nil {
		return nil, err
	}
	return o.sweep(ctx, b, dryRun)
}

// staler is a backend on which a dead owner can leave more than shards: half an image, say, or what
// the engine ran for a shard.
type staler interface {
	RemoveStale(ctx context.Context) error
}

func (o observer) sweep(ctx context.Context, b backends.Backend, dryRun bool) ([]Swept, error) {
	listed, err := b.List(ctx, map[string]string{LabelRun: ""})
	if err != nil {
		return nil, fmt.Errorf("list shards: %w", err)
	}
	var swept []Swept
	var failed []error
	for _, l := range listed {
		s, err := Parse(l.Labels)
		if err != nil || s.Keep || !o.provesDead(s.Owner, l.State) {
			continue
		}
		if !dryRun {
			if err := remove(ctx, b, l.ID); err != nil {
				failed = append(failed, fmt.Errorf("remove %s of run %s: %w", l.Name, s.Run, err))
				continue
			}
		}
		swept = append(swept, Swept{ID: l.ID, Name: l.Name, Shard: s})
	}
	if st, ok := b.(staler); ok && !dryRun {
		if err := st.RemoveStale(ctx); err != nil {
			failed = append(failed, fmt.Errorf("remove what a dead run left: %w", err))
		}
	}
	return swept, errors.Join(failed...)
}

// provesDead wants more of a running shard: no container outlives a reboot of its own host, so one
// that runs contradicts an owner of an earlier boot, unless the engine is elsewhere, where the dead
// man's switch ends it. This also spares the shards of a machine that was cloned with its id.
func (o observer) provesDead(id Identity, state string) bool {
	if id.Boot != o.self.Boot && state == "running" {
		return false
	}
	return o.judge(id) == Dead
}

// remove takes a shard away; that another sweep was faster is no error.
func remove(ctx context.Context, b backends.Backend, id string) error {
	s, err := b.Open(ctx, id)
	if errors.Is(err, backends.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.Remove(ctx)
}
