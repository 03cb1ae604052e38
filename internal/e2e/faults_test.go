package e2e

import (
	"maps"
	"syscall"
	"testing"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/e2e/rig"
)

// TestShardKilled ends a shard from outside in the middle of a trial. What had finished is there,
// the trial under way is lost to infrastructure, the next was never started; --resume collects these
// two and no more.
func TestShardKilled(t *testing.T) {
	for name, victim := range map[string]func(*testing.T, rig.Shard) int{
		"PID 1": func(_ *testing.T, s rig.Shard) int { return s.Pid },
		"serve": func(t *testing.T, s rig.Shard) int { return rig.ProcessIn(t, s, "berth-worker", "serve") },
	} {
		t.Run(name, func(t *testing.T) {
			m := rig.RunMidway(t)
			rig.Kill(t, victim(t, m.Shard), syscall.SIGKILL)
			r := m.Run.Wait()
			r.Expect(t, 4, "shard_lost: the shard ended with status 137")
			r.Ended(t, "passed", "infra", "missing")
			if kind := rig.FailureKind(r.Trials(t)["second"]); kind != string(code.ShardLost) {
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
		})
	}
}

// TestOneOfTwoShardsKilled: the other one's trials come back, in the same run.
func TestOneOfTwoShardsKilled(t *testing.T) {
	here, there := rig.IdsOn(0, 2, 2), rig.IdsOn(1, 2, 2)
	p := rig.NewProject(t, rig.SayCases(append(here, there...)...))
	p.Options = append(p.Options, "shards=2")
	g := p.NewGate(rig.Echo)
	dying, living := g.Hold("say "+here[1]), g.Hold("say "+there[1])
	c := p.Start()
	dying.Await(t)
	living.Await(t)
	_, shards := p.Running()
	for _, s := range shards {
		if s.Labels["run.berth.shard"] == "0" {
			rig.Kill(t, s.Pid, syscall.SIGKILL)
		}
	}
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

// TestCodexKilled: an app that ends in the middle of its turn has failed its trial. It's started
// anew for the next.
func TestCodexKilled(t *testing.T) {
	m := rig.RunMidway(t)
	rig.Kill(t, rig.ProcessIn(t, m.Shard, "codex", "app-server"), syscall.SIGKILL)
	r := m.Run.Wait()
	r.Expect(t, 1)
	r.Ended(t, "passed", "failed", "passed")
	if kind := rig.FailureKind(r.Trials(t)["second"]); kind != string(code.ClientRunFailed) {
		t.Errorf("failure kind %q", kind)
	}
	m.NothingLeft()
}

// TestChannelKilled cuts the link twice in the middle of a trial, at either end of its exec. The
// trial goes on, through a tunnel that comes back as well.
func TestChannelKilled(t *testing.T) {
	m := rig.RunMidway(t)
	for _, victim := range []func() int{
		func() int { return rig.ChannelOf(t, m.Shard) },
		func() int { return rig.Parent(t, rig.ChannelOf(t, m.Shard)) }, // the exec's conmon
	} {
		rig.Kill(t, victim(), syscall.SIGKILL)
		m.Hold.Await(t) // Codex asks again, which it only can through a new link
	}
	close(m.Hold.Release)
	r := m.Run.Wait()
	r.Expect(t, 0)
	r.Ended(t, "passed", "passed", "passed")
	for prompt, most := range map[string]int{"say first": 1, "say third": 1} {
		if n := m.Gate.Asked(prompt); n != most {
			t.Errorf("%q was asked %d times", prompt, n)
		}
	}
	m.NothingLeft()
}

// TestEngineKilled: without its engine berth can bring nothing home and remove nothing. It says what
// is left, and a sweep removes it.
func TestEngineKilled(t *testing.T) {
	m := rig.RunMidway(t)
	killed := false
	for _, pid := range m.Processes(nil) {
		if rig.ArgumentsHold(pid, "podman system service") {
			rig.Kill(t, pid, syscall.SIGKILL)
			killed = true
		}
	}
	if !killed {
		t.Skip("this user's Podman has an API socket, so berth starts no engine: stop podman.socket to run this")
	}
	r := m.Run.Wait()
	r.Expect(t, 4, "shard_lost: ", "container "+m.Shard.ID+" is left on the engine; `berth sweep` removes it")
	r.Ended(t, "passed", "infra", "missing")
	r.Missing(t, "third", "shard_lost: ")
	m.BerthDo("sweep").Expect(t, 0)
	m.NothingLeft()
}
