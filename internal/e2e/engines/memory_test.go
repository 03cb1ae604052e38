package engines

import (
	"maps"
	"strings"
	"testing"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/codetest"
	"github.com/berth-run/berth/internal/e2e/rig"
)

// hog is a script in which the turns of one case run a command before they answer.
func hog(id, command string) string {
	return `{"models": ["gpt-5.5", "gpt-6-luna"], "rules": [
  {"match": {"contains": "say ` + id + `"}, "steps": [{"command": {"cmd": "` + command + `"}}, {"text": "{{prompt}}"}]},
  {"steps": [{"text": "{{prompt}}"}]}]}`
}

// memoryLimitHit: of three trials in a shard the second one's command takes more memory than the shard has.
// The kernel kills the command, and Codex answers all the same; the trial is infrastructure's. Another shard
// does the third, while the one beside it stays as it is.
func memoryLimitHit(t *testing.T, tools rig.Tools) {
	needMemoryLimit(t, tools)
	here, there := rig.IdsOn(0, 2, 3), rig.IdsOn(1, 2, 2)
	p := tools.Project(t, rig.SayCases(append(here, there...)...))
	p.Options = append(p.Options, "shards=2", "memory=640m")
	g := p.NewGate(hog(here[1], "dd if=/dev/zero of=/dev/null bs=1536M count=1"))
	beside, after := g.Hold("say "+there[1]), g.Hold("say "+here[2])
	c := p.Start()
	beside.Await(t)
	before := shardOf(t, p, "1").ID
	after.Await(t)
	if now := shardOf(t, p, "1").ID; now != before {
		t.Errorf("the other shard is %s, it was %s", now, before)
	}
	close(after.Release)
	close(beside.Release)
	r := c.Wait()
	r.Expect(t, 4, "(oom_killed: the shard's memory limit of 640 MiB was hit and ", "shard 1/2: replaced, with 1 of its trials left: oom_killed: ")
	want := map[string]string{here[0]: "passed", here[1]: "infra", here[2]: "passed", there[0]: "passed", there[1]: "passed"}
	if got := r.Outcomes(t); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	lostToMemory(t, r, here[1])
	if n := g.Asked("say " + here[1]); n != 1 {
		t.Errorf("the model was asked %d times for the trial that was lost", n)
	}
	shards := r.Record(t).Runner.Shards
	if len(shards) != 3 || shards[0].Index != 0 || shards[1].Index != 0 || shards[0].Container == shards[1].Container || shards[2].Container != before {
		t.Errorf("recorded: %+v", shards)
	}
	p.NothingLeft()
}

// memoryFilled: what a trial leaves in memory as files can't be killed, so that one after the other is killed
// that asks for more, PID 1 at last or the worker before it.
func memoryFilled(t *testing.T, tools rig.Tools) {
	needMemoryLimit(t, tools)
	p := tools.Project(t, rig.SayCases("first", "second", "third"))
	p.Options = append(p.Options, "memory=512m")
	r := p.Rehearse(hog("second", "for f in /dev/shm/f /tmp/f /home/berth/f; do head -c 500m /dev/zero >$f; done"))
	r.Expect(t, 4, "replaced, with 1 of its trials left: oom_killed: ", "memory limit of 512 MiB was hit")
	r.Ended(t, "passed", "infra", "passed")
	lostToMemory(t, r, "second")
	p.NothingLeft()
}

func needMemoryLimit(t *testing.T, tools rig.Tools) {
	t.Helper()
	if i := tools.Engine.Info(t); !i.Capabilities.MemoryLimit {
		t.Skipf("%s has no capability MemoryLimit: %s", i.Name, strings.Join(i.Warnings, "; "))
	}
}

// lostToMemory checks the record of a case's trial.
func lostToMemory(t *testing.T, r rig.Result, id string) {
	t.Helper()
	trial := r.Trials(t)[id]
	codetest.Saw(t, code.Code(rig.FailureCode(trial)))
	if trial == nil || trial.FailureCode() != string(code.OOMKilled) || !trial.InfrastructureError || !strings.Contains(trial.Error, "raise it with --runner-option memory=") {
		t.Errorf("%+v", trial)
	}
}
