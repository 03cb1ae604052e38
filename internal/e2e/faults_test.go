package e2e

import (
	"maps"
	"syscall"
	"testing"

	"github.com/berth-run/berth/internal/code"
)

// middle starts a run of three cases in one shard, and gives it when the second one's trial is in
// the middle: its prompt has been sent and isn't answered.
func middle(t *testing.T) (*project, *gate, *hold, *command, shard) {
	t.Helper()
	p := newProject(t, sayCases("first", "second", "third"))
	g := p.newGate(echo)
	h := g.hold("say second")
	c := p.start()
	c.awaitTrial("first")
	h.await(t)
	_, shards := p.running()
	if len(shards) != 1 || shards[0].State != "running" {
		t.Fatalf("shards of the run: %+v", shards)
	}
	return p, g, h, c, shards[0]
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
			p, g, h, c, s := middle(t)
			kill(t, victim(t, s), syscall.SIGKILL)
			r := c.wait()
			r.expect(t, 4, "shard_lost: the shard ended with status 137")
			if got, want := r.outcomes(t), (map[string]string{"first": "passed", "second": "infra", "third": "missing"}); !maps.Equal(got, want) {
				t.Errorf("%v, want %v", got, want)
			}
			if kind := failureKind(r.trials(t)["second"]); kind != string(code.ShardLost) {
				t.Errorf("failure kind %q", kind)
			}
			r.missing(t, "third", "the shard ended with status 137")
			p.nothingLeft()

			close(h.release)
			again := p.run("--resume", lastSix(r.dir))
			again.expect(t, 0)
			if again.dir != r.dir || len(p.runs()) != 1 {
				t.Errorf("it made another run: %v", p.runs())
			}
			if got, want := again.outcomes(t), (map[string]string{"first": "passed", "second": "passed", "third": "passed"}); !maps.Equal(got, want) {
				t.Errorf("resumed: %v, want %v", got, want)
			}
			if n := g.asked("say first"); n != 1 {
				t.Errorf("the finished trial was asked %d times", n)
			}
			p.nothingLeft()
		})
	}
}

// TestCodexKilled: an app that ends in the middle of its turn has failed its trial. It's started
// anew for the next.
func TestCodexKilled(t *testing.T) {
	p, _, h, c, s := middle(t)
	kill(t, processIn(t, s, "codex", "app-server"), syscall.SIGKILL)
	r := c.wait()
	close(h.release)
	r.expect(t, 1)
	if got, want := r.outcomes(t), (map[string]string{"first": "passed", "second": "failed", "third": "passed"}); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if kind := failureKind(r.trials(t)["second"]); kind != string(code.ClientRunFailed) {
		t.Errorf("failure kind %q", kind)
	}
	p.nothingLeft()
}

// TestChannelKilled cuts the link twice in the middle of a trial, at either end of its exec. The
// trial goes on, through a tunnel that comes back as well.
func TestChannelKilled(t *testing.T) {
	p, g, h, c, s := middle(t)
	for _, victim := range []func() int{
		func() int { return channelOf(t, s) },
		func() int { return parent(t, channelOf(t, s)) }, // the exec's conmon
	} {
		kill(t, victim(), syscall.SIGKILL)
		h.await(t) // Codex asks again, which it only can through a new link
	}
	close(h.release)
	r := c.wait()
	r.expect(t, 0)
	if got, want := r.outcomes(t), (map[string]string{"first": "passed", "second": "passed", "third": "passed"}); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if n := g.asked("say third"); n != 1 {
		t.Errorf("the third trial was asked %d times", n)
	}
	p.nothingLeft()
}
