package e2e

import (
	"maps"
	"testing"
)

// TestRun is the whole path once, with two shards, both kinds of model and an MCP server, as the
// sample has them, and then that nothing of it is left.
func TestRun(t *testing.T) {
	p := newProject(t, []object{says("a"), says("b"), says("c")})
	p.options = append(p.options, "shards=2")
	r := p.rehearse(echo)
	r.expect(t, 0)
	want := map[string]string{"a": "passed", "b": "passed", "c": "passed"}
	if got := r.outcomes(t); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	p.nothingLeft()
}

// TestFailedCase: a failed case is the run's outcome, and the other cases have theirs.
func TestFailedCase(t *testing.T) {
	wrong := object{"id": "wrong", "input": "say this", "assertions": object{"containsText": "that"}}
	p := newProject(t, []object{says("right"), wrong})
	r := p.rehearse(echo)
	r.expect(t, 1)
	if got, want := r.outcomes(t), (map[string]string{"right": "passed", "wrong": "failed"}); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	p.nothingLeft()
}
