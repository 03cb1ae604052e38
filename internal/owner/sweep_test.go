package owner

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-run/berth/backends"
)

// engine has shards and forgets those that are removed. The rest of a Backend isn't called.
type engine struct {
	backends.Backend
	shards []backends.Listed
	broken map[string]error
}

func (e *engine) List(_ context.Context, labels map[string]string) ([]backends.Listed, error) {
	if _, ok := labels[LabelRun]; !ok || len(labels) != 1 {
		return nil, errors.New("lists more than runs' shards")
	}
	return slices.Clone(e.shards), nil
}

func (e *engine) Open(_ context.Context, id string) (backends.Shard, error) {
	if err := e.broken[id]; err != nil {
		return nil, err
	}
	return &shard{engine: e, id: id}, nil
}

type shard struct {
	backends.Shard
	engine *engine
	id     string
}

func (s *shard) Remove(context.Context) error {
	s.engine.shards = slices.DeleteFunc(s.engine.shards, func(l backends.Listed) bool { return l.ID == s.id })
	return nil
}

func (e *engine) ids() []string {
	var ids []string
	for _, s := range e.shards {
		ids = append(ids, s.ID)
	}
	return ids
}

func listed(id, state string, s Shard) backends.Listed {
	s.Run = "r1"
	return backends.Listed{ID: id, Name: "berth-" + id, State: state, Labels: s.Labels()}
}

func TestSweep(t *testing.T) {
	gone := Identity{Host: "h1", Boot: "b1", PIDNamespace: self.PIDNamespace, PID: 300, Start: "1"}
	earlier := Identity{Host: "h1", Boot: "b0", PIDNamespace: self.PIDNamespace, PID: 300, Start: "1"}
	elsewhere := Identity{Host: "h2", Boot: "b2", PIDNamespace: self.PIDNamespace, PID: 300, Start: "1"}
	future := time.Now().Add(100 * 365 * 24 * time.Hour)
	fresh := func() *engine {
		return &engine{shards: []backends.Listed{
			listed("running", "running", Shard{Owner: gone}),
			listed("created", "created", Shard{Owner: gone}),
			listed("exited", "exited", Shard{Owner: gone}),
			listed("future", "exited", Shard{Owner: gone, Created: future}), // the clock was set back
			listed("kept", "exited", Shard{Owner: gone, Keep: true}),
			listed("mine", "running", Shard{Owner: self}),
			listed("mine-old", "exited", Shard{Owner: self, Created: time.Unix(0, 0)}), // the clock was set forward
			listed("reboot", "exited", Shard{Owner: earlier}),
			listed("reboot-running", "running", Shard{Owner: earlier}),
			listed("elsewhere", "exited", Shard{Owner: elsewhere}),
			{ID: "stranger", State: "exited", Labels: map[string]string{LabelRun: "r1"}},
		}}
	}
	dead := []string{"running", "created", "exited", "future", "reboot"}
	left := []string{"kept", "mine", "mine-old", "reboot-running", "elsewhere", "stranger"}
	o := observerWith(self, map[int]string{self.PID: self.Start})

	e := fresh()
	swept, err := o.sweep(t.Context(), e, true)
	if err != nil || len(e.shards) != len(dead)+len(left) {
		t.Errorf("dry run: %v, leaves %v", err, e.ids())
	}
	if diff := cmp.Diff(dead, idsOf(swept)); diff != "" {
		t.Errorf("dry run, -want +got:\n%s", diff)
	}
	if swept, err = o.sweep(t.Context(), e, false); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(dead, idsOf(swept)); diff != "" {
		t.Errorf("swept, -want +got:\n%s", diff)
	}
	if diff := cmp.Diff(left, e.ids()); diff != "" {
		t.Errorf("left, -want +got:\n%s", diff)
	}

	e = fresh()
	e.broken = map[string]error{"created": errors.New("storage is busy"), "exited": backends.ErrNotFound}
	swept, err = o.sweep(t.Context(), e, false)
	if err == nil || !strings.Contains(err.Error(), "remove berth-created of run r1: storage is busy") {
		t.Errorf("error is %v", err)
	}
	if diff := cmp.Diff([]string{"running", "exited", "future", "reboot"}, idsOf(swept)); diff != "" {
		t.Errorf("with a broken shard, -want +got:\n%s", diff)
	}
}

func idsOf(swept []Swept) []string {
	var ids []string
	for _, s := range swept {
		ids = append(ids, s.ID)
	}
	return ids
}

// TestSweepClockSet: when a shard was created, by a clock that was set since, is nothing to judge by.
func TestSweepClockSet(t *testing.T) {
	self, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	for _, by := range []time.Duration{-48 * time.Hour, 48 * time.Hour} {
		dead := self
		dead.Start += "0" // the pid is another process's by now
		created := time.Now().Add(by)
		e := &engine{shards: []backends.Listed{
			listed("alive", "running", Shard{Created: created, Owner: self}),
			listed("dead", "running", Shard{Created: created, Owner: dead}),
		}}
		if _, err := Sweep(t.Context(), e, false); err != nil || !slices.Equal(e.ids(), []string{"alive"}) {
			t.Errorf("created at %v: left %v, %v", created, e.ids(), err)
		}
	}
}
