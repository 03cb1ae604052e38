package engines

import (
	"maps"
	"strings"
	"testing"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/codetest"
	"github.com/berth-run/berth/internal/e2e/rig"
)

// filling is a script whose agents fill a file system of their shard: their own home, /tmp for a while, and
// the shard's home for good.
const filling = `{"models": ["gpt-5.5", "gpt-6-luna"], "rules": [
  {"match": {"contains": "say own"}, "steps": [
    {"command": {"cmd": "dd if=/dev/zero of=$HOME/full bs=1M"}}, {"text": "say own: {{output}}"}]},
  {"match": {"contains": "say tmp"}, "steps": [
    {"command": {"cmd": "dd if=/dev/zero of=/tmp/full bs=1M; rm /tmp/full"}}, {"text": "say tmp: {{output}}"}]},
  {"match": {"contains": "say left"}, "steps": [
    {"command": {"cmd": "dd if=/dev/zero of=/home/berth/full bs=1M"}}, {"text": "say left: {{output}}"}]},
  {"steps": [{"text": "{{prompt}}"}]}]}`

// tmpfsFull: a trial whose record had no room is lost, and says why. What it filled goes with its home, and
// what it left elsewhere, berth can't take for its own: it's in the way of the next trial, which says so.
func tmpfsFull(t *testing.T, tools rig.Tools) {
	p := tools.Project(t, rig.SayCases("first", "own", "tmp", "left", "last"))
	p.Options = append(p.Options, "memory=1g") // twice what the home may hold
	g := p.NewGate(filling)
	r := p.Run()
	r.Expect(t, 4)
	want := map[string]string{"first": "passed", "own": "infra", "tmp": "passed", "left": "infra", "last": "infra"}
	if got := r.Outcomes(t); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	trials := r.Trials(t)
	for id, asked := range map[string]int{"own": 1, "left": 1, "last": 0} {
		trial := trials[id]
		if got := rig.FailureCode(trial); got != string(code.ShardFull) || !strings.Contains(trial.Error, "/home/berth/") {
			t.Errorf("%s: failure code %q: %s", id, got, trial.Error)
		}
		if n := g.Asked("say " + id); n != asked {
			t.Errorf("%s was asked %d times, want %d", id, n, asked)
		}
	}
	codetest.Saw(t, code.ShardFull)
	if text := trials["tmp"].Trace.FinalText; !strings.Contains(text, "No space left on device") {
		t.Errorf("/tmp wasn't full: %s", text)
	}
	p.NothingLeft()
}
