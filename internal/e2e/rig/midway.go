package rig

import (
	"maps"
	"testing"

	"github.com/berth-run/berth/internal/code"
)

// Midway is a run of three cases in one shard whose second trial is in the middle: its prompt has
// been sent and isn't answered before hold is released.
type Midway struct {
	*Project
	Gate  *Gate
	Hold  *Hold
	Run   *Command
	Shard Shard
}

// RunMidway is Midway of a project of its own.
func RunMidway(t *testing.T, options ...string) Midway {
	t.Helper()
	return use(t).Midway(t, options...)
}

// Midway is Midway of a project of its own.
func (tools Tools) Midway(t *testing.T, options ...string) Midway {
	t.Helper()
	return tools.Project(t, SayCases("first", "second", "third")).Midway(options...)
}

// Midway starts the run of a project with the cases first, second and third.
func (p *Project) Midway(options ...string) Midway {
	p.T.Helper()
	p.Options = append(p.Options, options...)
	m := Midway{Project: p, Gate: p.NewGate(Echo)}
	m.Hold = m.Gate.Hold("say second")
	m.Run = p.Start()
	m.Run.AwaitTrial("first")
	m.Hold.Await(p.T)
	_, shards := p.Running()
	if len(shards) != 1 || shards[0].State != "running" {
		p.T.Fatalf("shards of the run: %+v", shards)
	}
	m.Shard = shards[0]
	return m
}

// Interrupted interrupts the run once, and checks all that comes of it.
func (m Midway) Interrupted() {
	m.T.Helper()
	t := m.T
	m.Run.Interrupt()
	r := m.Run.Wait()
	r.Expect(t, 4, "ending; what has finished is kept", "cancelling")
	r.Ended(t, "passed", "infra", "missing")
	if kind := FailureCode(r.Trials(t)["second"]); kind != string(code.Cancelled) {
		t.Errorf("failure kind %q", kind)
	}
	r.Missing(t, "third", "cancelled before it ran")
	if got := r.Record(t).Phases.Collect; got != "partial" {
		t.Errorf("collect is %s", got)
	}
	if !HasLine(r.Stdout, "Report:") {
		t.Errorf("no summary:\n%s", r.Stdout)
	}
	m.NothingLeft()
}

// Ended checks the outcomes of the three cases.
func (r Result) Ended(t *testing.T, first, second, third string) {
	t.Helper()
	want := map[string]string{"first": first, "second": second, "third": third}
	if got := r.Outcomes(t); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// AskedOnce checks that the model was asked once for each of these cases.
func (m Midway) AskedOnce(cases ...string) {
	m.T.Helper()
	for _, id := range cases {
		if n := m.Gate.Asked("say " + id); n != 1 {
			m.T.Errorf("%q was asked %d times", id, n)
		}
	}
}

// Channel gives the process that the shard's link is exec'd as: a child of the engine's monitor, not of
// PID 1.
func (m Midway) Channel() int {
	m.T.Helper()
	return find(m.T, "the shard's channel", func(pid int, parents map[int]int) bool {
		return ArgumentsHold(pid, "berth-worker channel") && ArgumentsHold(parents[pid], m.Engine.Monitor(), m.Shard.ID)
	})
}
