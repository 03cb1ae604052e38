package e2e

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/e2e/rig"
)

// TestInterrupt: the first Ctrl-C cancels the trial under way and keeps what has finished.
func TestInterrupt(t *testing.T) { rig.RunMidway(t).Interrupted() }

// TestInterruptTwice: the second Ctrl-C ends at once. The worker is stopped before, so that it can't
// be done with the first.
func TestInterruptTwice(t *testing.T) {
	m := rig.RunMidway(t)
	rig.Kill(t, rig.ProcessIn(t, m.Shard, "berth-worker", "serve"), syscall.SIGSTOP)
	m.Run.Interrupt()
	m.Run.Await("ending; what")
	m.Run.Interrupt()
	r := m.Run.Wait()
	r.Expect(t, 130)
	r.Ended(t, "passed", "infra", "missing")
	if kind := rig.FailureCode(r.Trials(t)["second"]); kind != string(code.Cancelled) {
		t.Errorf("failure kind %q", kind)
	}
	m.NothingLeft()
}

// TestInterruptSetUp: before its first trial there is nothing to wait for.
func TestInterruptSetUp(t *testing.T) {
	p := rig.NewProject(t, rig.SayCases("a"))
	p.NewGate(rig.Echo)
	started := p.Path("started")
	p.Env = append(p.Env, "MST_LLM_AUTH_COMMAND=touch "+started+"; exec sleep 600")
	c := p.Start()
	if !rig.Eventually(func() bool { return !rig.Gone(started) }) {
		t.Fatal("the token command wasn't run")
	}
	c.Interrupt()
	r := c.Wait()
	r.Expect(t, 4)
	r.Missing(t, "a", "cancelled")
	p.NothingLeft()
}

// TestReaderGone: `berth run | head -1` closes what berth writes to. The run goes on to its end, so
// that its shards are removed and its results are whole.
func TestReaderGone(t *testing.T) {
	p := rig.NewProject(t, rig.SayCases("first", "second", "third"))
	p.NewGate(rig.Echo)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	t.Cleanup(func() { w.Close() })
	p.Change = func(c *exec.Cmd) { c.Stdout = w }
	end := p.Run()
	end.Expect(t, 0)
	end.Ended(t, "passed", "passed", "passed")
	p.NothingLeft()
}
