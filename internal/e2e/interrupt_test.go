package e2e

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/berth-run/berth/internal/code"
)

// interrupt is Ctrl-C: the terminal's whole foreground group gets it.
func (c *command) interrupt() {
	c.t.Helper()
	kill(c.t, -c.cmd.Process.Pid, syscall.SIGINT)
}

// TestInterrupt: the first Ctrl-C cancels the trial under way and keeps what has finished.
func TestInterrupt(t *testing.T) { runMidway(t).interrupted() }

// interrupted interrupts a run once.
func (m midway) interrupted() {
	t := m.t
	m.run.interrupt()
	r := m.run.wait()
	r.expect(t, 4, "ending; what has finished is kept", "cancelling")
	r.ended(t, "passed", "infra", "missing")
	if kind := failureKind(r.trials(t)["second"]); kind != string(code.Cancelled) {
		t.Errorf("failure kind %q", kind)
	}
	r.missing(t, "third", "cancelled before it ran")
	if got := r.record(t).Phases.Collect; got != "partial" {
		t.Errorf("collect is %s", got)
	}
	if !hasLine(r.stdout, "Report:") {
		t.Errorf("no summary:\n%s", r.stdout)
	}
	m.nothingLeft()
}

// TestInterruptTwice: the second Ctrl-C ends at once. The worker is stopped before, so that it can't
// be done with the first.
func TestInterruptTwice(t *testing.T) {
	m := runMidway(t)
	kill(t, processIn(t, m.shard, "berth-worker", "serve"), syscall.SIGSTOP)
	m.run.interrupt()
	m.run.await("ending; what")
	m.run.interrupt()
	r := m.run.wait()
	r.expect(t, 130)
	r.ended(t, "passed", "infra", "missing")
	if kind := failureKind(r.trials(t)["second"]); kind != string(code.Cancelled) {
		t.Errorf("failure kind %q", kind)
	}
	m.nothingLeft()
}

// TestInterruptSetUp: before its first trial there is nothing to wait for.
func TestInterruptSetUp(t *testing.T) {
	p := newProject(t, sayCases("a"))
	p.newGate(echo)
	started := p.path("started")
	p.env = append(p.env, "MST_LLM_AUTH_COMMAND=touch "+started+"; exec sleep 600")
	c := p.start()
	if !eventually(func() bool { return !gone(started) }) {
		t.Fatal("the token command wasn't run")
	}
	c.interrupt()
	r := c.wait()
	r.expect(t, 4)
	r.missing(t, "a", "cancelled")
	p.nothingLeft()
}

// TestReaderGone: `berth run | head -1` closes what berth writes to. The run goes on to its end, so
// that its shards are removed and its results are whole.
func TestReaderGone(t *testing.T) {
	p := newProject(t, sayCases("first", "second", "third"))
	p.newGate(echo)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	t.Cleanup(func() { w.Close() })
	p.change = func(c *exec.Cmd) { c.Stdout = w }
	end := p.run()
	end.expect(t, 0)
	end.ended(t, "passed", "passed", "passed")
	p.nothingLeft()
}
