package e2e

import (
	"maps"
	"syscall"
	"testing"

	"github.com/berth-run/berth/internal/code"
)

// midway is a run of three cases in one shard whose second trial is in the middle: its prompt has
// been sent and isn't answered before hold is released.
type midway struct {
	*project
	gate  *gate
	hold  *hold
	run   *command
	shard shard
}

func runMidway(t *testing.T, options ...string) midway {
	t.Helper()
	return newProject(t, sayCases("first", "second", "third")).midway(options...)
}

// midway starts the run of a project with the cases first, second and third.
func (p *project) midway(options ...string) midway {
	p.t.Helper()
	p.options = append(p.options, options...)
	m := midway{project: p, gate: p.newGate(echo)}
	m.hold = m.gate.hold("say second")
	m.run = p.start()
	m.run.awaitTrial("first")
	m.hold.await(p.t)
	_, shards := p.running()
	if len(shards) != 1 || shards[0].State != "running" {
		p.t.Fatalf("shards of the run: %+v", shards)
	}
	m.shard = shards[0]
	return m
}

// ended checks the outcomes of the three cases.
func (r result) ended(t *testing.T, first, second, third string) {
	t.Helper()
	want := map[string]string{"first": first, "second": second, "third": third}
	if got := r.outcomes(t); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestShardKilled ends a shard from outside in the middle of a trial. What had finished is there,
// the trial under way is lost to infrastructure, the next was never started; --resume collects these
// two and no more.
func TestShardKilled(t *testing.T) {
	for name, victim := range map[string]func(*testing.T, shard) int{
		"PID 1": func(_ *testing.T, s shard) int { return s.Pid },
		"serve": func(t *testing.T, s shard) int { return processIn(t, s, "berth-worker", "serve") },
	} {
		t.Run(name, func(t *testing.T) {
			m := runMidway(t)
			kill(t, victim(t, m.shard), syscall.SIGKILL)
			r := m.run.wait()
			r.expect(t, 4, "shard_lost: the shard ended with status 137")
			r.ended(t, "passed", "infra", "missing")
			if kind := failureKind(r.trials(t)["second"]); kind != string(code.ShardLost) {
				t.Errorf("failure kind %q", kind)
			}
			r.missing(t, "third", "the shard ended with status 137")
			m.nothingLeft()

			close(m.hold.release)
			again := m.project.run("--resume", lastSix(r.dir))
			again.expect(t, 0)
			again.ended(t, "passed", "passed", "passed")
			if again.dir != r.dir || len(m.runs()) != 1 {
				t.Errorf("it made another run: %v", m.runs())
			}
			if n := m.gate.asked("say first"); n != 1 {
				t.Errorf("the finished trial was asked %d times", n)
			}
			m.nothingLeft()
		})
	}
}

// TestOneOfTwoShardsKilled: the other one's trials come back, in the same run.
func TestOneOfTwoShardsKilled(t *testing.T) {
	here, there := idsOn(0, 2, 2), idsOn(1, 2, 2)
	p := newProject(t, sayCases(append(here, there...)...))
	p.options = append(p.options, "shards=2")
	g := p.newGate(echo)
	dying, living := g.hold("say "+here[1]), g.hold("say "+there[1])
	c := p.start()
	dying.await(t)
	living.await(t)
	_, shards := p.running()
	for _, s := range shards {
		if s.Labels["run.berth.shard"] == "0" {
			kill(t, s.Pid, syscall.SIGKILL)
		}
	}
	c.await("shard 1/2: stopped: shard_lost")
	close(living.release)
	r := c.wait()
	r.expect(t, 4)
	want := map[string]string{here[0]: "passed", here[1]: "infra", there[0]: "passed", there[1]: "passed"}
	if got := r.outcomes(t); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	p.nothingLeft()
}

// TestCodexKilled: an app that ends in the middle of its turn has failed its trial. It's started
// anew for the next.
func TestCodexKilled(t *testing.T) {
	m := runMidway(t)
	kill(t, processIn(t, m.shard, "codex", "app-server"), syscall.SIGKILL)
	r := m.run.wait()
	r.expect(t, 1)
	r.ended(t, "passed", "failed", "passed")
	if kind := failureKind(r.trials(t)["second"]); kind != string(code.ClientRunFailed) {
		t.Errorf("failure kind %q", kind)
	}
	m.nothingLeft()
}

// TestChannelKilled cuts the link twice in the middle of a trial, at either end of its exec. The
// trial goes on, through a tunnel that comes back as well.
func TestChannelKilled(t *testing.T) {
	m := runMidway(t)
	for _, victim := range []func() int{
		func() int { return channelOf(t, m.shard) },
		func() int { return parent(t, channelOf(t, m.shard)) }, // the exec's conmon
	} {
		kill(t, victim(), syscall.SIGKILL)
		m.hold.await(t) // Codex asks again, which it only can through a new link
	}
	close(m.hold.release)
	r := m.run.wait()
	r.expect(t, 0)
	r.ended(t, "passed", "passed", "passed")
	for prompt, most := range map[string]int{"say first": 1, "say third": 1} {
		if n := m.gate.asked(prompt); n != most {
			t.Errorf("%q was asked %d times", prompt, n)
		}
	}
	m.nothingLeft()
}

// TestEngineKilled: without its engine berth can bring nothing home and remove nothing. It says what
// is left, and a sweep removes it.
func TestEngineKilled(t *testing.T) {
	m := runMidway(t)
	killed := false
	for _, pid := range m.processes(nil) {
		if argumentsHold(pid, "podman system service") {
			kill(t, pid, syscall.SIGKILL)
			killed = true
		}
	}
	if !killed {
		t.Skip("this user's Podman has an API socket, so berth starts no engine: stop podman.socket to run this")
	}
	r := m.run.wait()
	r.expect(t, 4, "shard_lost: ", "container "+m.shard.ID+" is left on the engine; `berth sweep` removes it")
	r.ended(t, "passed", "infra", "missing")
	r.missing(t, "third", "shard_lost: ")
	m.berthDo("sweep").expect(t, 0)
	m.nothingLeft()
}
