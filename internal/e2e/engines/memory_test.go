package engines

import (
	"testing"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/e2e/rig"
)

// hog has the second prompt's command take more memory than the shard has. Of all that is in the shard, Codex
// is what the kernel is to kill first.
const hog = `{"models": ["gpt-5.5", "gpt-6-luna"], "rules": [
  {"match": {"contains": "say second"}, "steps": [
    {"command": {"cmd": "for p in /proc/[0-9]*; do if grep -q '[a]pp-server' $p/cmdline; then echo 1000 >$p/oom_score_adj; fi; done; tail -c 3g /dev/zero"}},
    {"text": "{{prompt}}"}]},
  {"steps": [{"text": "{{prompt}}"}]}]}`

// outOfMemory: the trial that hit the shard's memory limit says so, by the kernel's own count, and is
// infrastructure's; those before and after it have their answers.
func outOfMemory(t *testing.T, tools rig.Tools) {
	if !tools.Limits {
		t.Skip("the engine has no memory controller here, so no limit can be hit: run `make test-vm`")
	}
	p := tools.Project(t, rig.SayCases("first", "second", "third"))
	p.Options = append(p.Options, "memory=640m")
	r := p.Rehearse(hog)
	r.Expect(t, 4, "oom_killed: the shard's memory limit was hit")
	r.Ended(t, "passed", "infra", "passed")
	if kind := rig.FailureKind(r.Trials(t)["second"]); kind != string(code.OOMKilled) {
		t.Errorf("failure kind %q", kind)
	}
	if rec := r.Record(t).Runner; rec.LimitsMode != "enforce" || len(rec.NotEnforced) > 0 {
		t.Errorf("recorded: %s, not enforced %v", rec.LimitsMode, rec.NotEnforced)
	}
	p.NothingLeft()
}
