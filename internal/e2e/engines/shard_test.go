package engines

import (
	"maps"
	"syscall"
	"testing"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/e2e/rig"
)

// pid1Killed and workerKilled end a shard from outside in the middle of a trial.
func pid1Killed(t *testing.T, tools rig.Tools) {
	shardKilled(t, tools, func(s rig.Shard) int { return s.Pid })
}

func workerKilled(t *testing.T, tools rig.Tools) {
	shardKilled(t, tools, func(s rig.Shard) int { return rig.ProcessIn(t, s, "berth-worker", "serve") })
}

// shardKilled: what had finished is there, the trial under way is lost to infrastructure, the next was
// never started; --resume collects these two and no more.
func shardKilled(t *testing.T, tools rig.Tools, victim func(rig.Shard) int) {
	m := tools.Midway(t)
	rig.Kill(t, victim(m.Shard), syscall.SIGKILL)
	r := m.Run.Wait()
	r.Expect(t, 4, "shard_lost: the shard ended with status 137")
	r.Ended(t, "passed", "infra", "missing")
	if kind := rig.FailureCode(r.Trials(t)["second"]); kind != string(code.ShardLost) {
		t.Errorf("failure kind %q", kind)
	}
	r.Missing(t, "third", "the shard ended with status 137")
	m.NothingLeft()

	close(m.Hold.Release)
	again := m.Project.Run("--resume", rig.LastSix(r.Dir))
	again.Expect(t, 0)
	again.Ended(t, "passed", "passed", "passed")
	if again.Dir != r.Dir || len(m.Runs()) != 1 {
		t.Errorf("it made another run: %v", m.Runs())
	}
	if n := m.Gate.Asked("say first"); n != 1 {
		t.Errorf("the finished trial was asked %d times", n)
	}
	m.NothingLeft()
}

// oneOfTwoKilled: the other shard's trials come back, in the same run.
func oneOfTwoKilled(t *testing.T, tools rig.Tools) {
	here, there := rig.IdsOn(0, 2, 2), rig.IdsOn(1, 2, 2)
	p := tools.Project(t, rig.SayCases(append(here, there...)...))
	c, living := onTwo(t, p, here[1], there[1])
	rig.Kill(t, shardOf(t, p, "0").Pid, syscall.SIGKILL)
	c.Await("shard 1/2: stopped: shard_lost")
	close(living.Release)
	r := c.Wait()
	r.Expect(t, 4)
	want := map[string]string{here[0]: "passed", here[1]: "infra", there[0]: "passed", there[1]: "passed"}
	if got := r.Outcomes(t); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	p.NothingLeft()
}

// onTwo starts a run in two shards, each of which comes to the middle of a case. What holds the second one's
// is returned.
func onTwo(t *testing.T, p *rig.Project, here, there string) (*rig.Command, *rig.Hold) {
	t.Helper()
	p.Options = append(p.Options, "shards=2")
	g := p.NewGate(rig.Echo)
	first, second := g.Hold("say "+here), g.Hold("say "+there)
	c := p.Start()
	first.Await(t)
	second.Await(t)
	return c, second
}

// shardOf gives a shard of the project's run, by its index.
func shardOf(t *testing.T, p *rig.Project, index string) rig.Shard {
	t.Helper()
	_, shards := p.Running()
	for _, s := range shards {
		if s.Labels["run.berth.shard"] == index {
			return s
		}
	}
	t.Fatalf("no shard %s: %+v", index, shards)
	return rig.Shard{}
}

// silence stops every process of one shard of two, as a machine that hangs would. The shard is given up; the
// other one, which has as little to tell for as long, isn't.
func silence(t *testing.T, tools rig.Tools) {
	here, there := rig.IdsOn(0, 2, 3), rig.IdsOn(1, 2, 2)
	p := tools.Project(t, rig.SayCases(append(here, there...)...))
	p.Options = append(p.Options, "silence=20s")
	c, living := onTwo(t, p, here[1], there[1])
	rig.StopAll(t, shardOf(t, p, "0"))
	c.Await("shard 1/2: stopped: shard_silent: nothing heard from the worker for 20s")
	close(living.Release)
	r := c.Wait()
	r.Expect(t, 4)
	want := map[string]string{here[0]: "passed", here[1]: "infra", here[2]: "missing", there[0]: "passed", there[1]: "passed"}
	if got := r.Outcomes(t); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := rig.FailureCode(r.Trials(t)[here[1]]); got != string(code.ShardSilent) {
		t.Errorf("failure code %q", got)
	}
	r.Missing(t, here[2], "shard_silent: ")
	p.NothingLeft()
}

// codexKilled: an app that ends in the middle of its turn has failed its trial. It's started anew for the
// next.
func codexKilled(t *testing.T, tools rig.Tools) {
	m := tools.Midway(t)
	rig.Kill(t, rig.ProcessIn(t, m.Shard, "codex", "app-server"), syscall.SIGKILL)
	r := m.Run.Wait()
	r.Expect(t, 1)
	r.Ended(t, "passed", "failed", "passed")
	if kind := rig.FailureCode(r.Trials(t)["second"]); kind != string(code.ClientRunFailed) {
		t.Errorf("failure kind %q", kind)
	}
	m.NothingLeft()
}

// channelKilled cuts the link in the middle of a trial: in the shard, and where the engine has a process
// for it on the machine, there too. The trial goes on, through a tunnel that comes back as well.
func channelKilled(t *testing.T, tools rig.Tools) {
	m := tools.Midway(t)
	victims := []func() int{func() int { return m.Channel() }}
	if tools.Engine.Runner() == "podman" { // an exec has a conmon of its own
		victims = append(victims, func() int { return rig.Parent(t, m.Channel()) })
	}
	for _, victim := range victims {
		rig.Kill(t, victim(), syscall.SIGKILL)
		m.Hold.Await(t) // Codex asks again, which it only can through a new link
	}
	close(m.Hold.Release)
	r := m.Run.Wait()
	r.Expect(t, 0)
	r.Ended(t, "passed", "passed", "passed")
	m.AskedOnce("first", "third")
	m.NothingLeft()
}
