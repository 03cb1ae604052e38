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
// the shard's home for good, but for what they need to end well themselves.
const filling = `{"models": ["gpt-5.5", "gpt-6-luna"], "rules": [
  {"match": {"contains": "say own"}, "steps": [
    {"command": {"cmd": "dd if=/dev/zero of=$HOME/full bs=1M"}}, {"text": "say own: {{output}}"}]},
  {"match": {"contains": "say tmp"}, "steps": [
    {"command": {"cmd": "dd if=/dev/zero of=/tmp/full bs=1M; rm /tmp/full"}}, {"text": "say tmp: {{output}}"}]},
  {"match": {"contains": "say left"}, "steps": [
    {"command": {"cmd": "dd if=/dev/zero of=/home/berth/full bs=1M; truncate --size=-12M /home/berth/full"}}, {"text": "say left: {{output}}"}]},
  {"steps": [{"text": "{{prompt}}"}]}]}`

// tmpfsFull: a trial whose record had no room is lost and says why, as does one that finds no room to begin.
// Another shard does the rest, each time.
func tmpfsFull(t *testing.T, tools rig.Tools) {
	p := tools.Project(t, rig.SayCases("first", "own", "tmp", "left", "next", "last"))
	p.Options = append(p.Options, "memory=1g") // twice what the home may hold
	g := p.NewGate(filling)
	r := p.Run()
	r.Expect(t, 4, "replaced, with 4 of its trials left: shard_full: ", "replaced, with 1 of its trials left: shard_full: ")
	want := map[string]string{"first": "passed", "own": "infra", "tmp": "passed", "left": "passed", "next": "infra", "last": "passed"}
	if got := r.Outcomes(t); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	trials := r.Trials(t)
	for id, asked := range map[string]int{"own": 1, "next": 0} {
		trial := trials[id]
		if got := rig.FailureCode(trial); got != string(code.ShardFull) || !strings.Contains(trial.Error, "/home/berth/") {
			t.Errorf("%s: failure code %q: %s", id, got, trial.Error)
		}
		if n := g.Asked("say " + id); n != asked {
			t.Errorf("%s was asked %d times, want %d", id, n, asked)
		}
	}
	codetest.Saw(t, code.ShardFull)
	for _, id := range []string{"tmp", "left"} {
		if trial := trials[id]; trial.Trace == nil || !strings.Contains(trial.Trace.FinalText, "No space left on device") {
			t.Errorf("%s filled nothing: %+v", id, trial)
		}
	}
	p.NothingLeft()
}
