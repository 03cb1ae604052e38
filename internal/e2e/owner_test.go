package e2e

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestCoordinatorKilled: what a killed berth leaves is found by name of its run, told by ps and by a
// dry sweep, and removed by the next run's start; here by the one that resumes it.
func TestCoordinatorKilled(t *testing.T) {
	m := useAlone(t).project(t, sayCases("first", "second", "third")).midway()
	runID, _ := m.running()
	if len(m.processes(nil)) == 0 {
		t.Fatal("no process carries the mark, so none would be found to be left")
	}
	m.run.signal(syscall.SIGKILL)
	m.run.wait()
	m.onlyShardsLeft()

	if ps := m.berthDo("ps"); !hasLine(ps.stdout, runID, "running", "dead", "false") {
		t.Errorf("ps:\n%s", ps.stdout)
	}
	if dry := m.berthDo("sweep", "--dry-run"); dry.status != 0 || !hasLine(dry.stdout, "would remove", runID) {
		t.Errorf("dry sweep, status %d:\n%s", dry.status, dry.stdout)
	}
	if left := shards(t, runID); len(left) != 1 || left[0].State != "running" {
		t.Errorf("after looking: %+v", left)
	}

	close(m.hold.release)
	r := m.project.run("--resume", runID)
	r.expect(t, 0, "[berth] removed ", "left by run "+runID)
	r.ended(t, "passed", "passed", "passed")
	if n := m.gate.asked("say first"); n != 1 {
		t.Errorf("the finished trial was asked %d times", n)
	}
	m.nothingLeft()
	m.noTrace(m.shard.ID)
}

// TestDeadMansSwitch: a shard whose owner is gone, and that nobody sweeps, ends itself. One whose
// owner is alive doesn't, however little there is to say.
func TestDeadMansSwitch(t *testing.T) {
	const deadman = 3 * time.Second
	m := useAlone(t).project(t, sayCases("first", "second", "third")).midway("deadman=" + deadman.String())
	time.Sleep(2 * deadman) // what is awaited is that nothing happens
	runID, up := m.running()
	if len(up) != 1 || up[0].State != "running" {
		t.Fatalf("with its owner alive: %+v", up)
	}
	m.run.signal(syscall.SIGKILL)
	m.run.wait()
	if status := podmanDo(t, "wait", m.shard.ID); status != "3" {
		t.Errorf("PID 1 ended with %s, want 3", status)
	}
	m.onlyShardsLeft()
	if sweep := m.berthDo("sweep"); sweep.status != 0 || !hasLine(sweep.stdout, "removed", runID) {
		t.Errorf("sweep, status %d:\n%s%s", sweep.status, sweep.stdout, sweep.stderr)
	}
	m.nothingLeft()
	m.noTrace(m.shard.ID)
}

// TestSideBySide: a run neither sweeps nor ends what belongs to another that is alive.
func TestSideBySide(t *testing.T) {
	m := runMidway(t)
	other := m.tools.project(t, sayCases("other"))
	other.rehearse(echo).expect(t, 0)
	other.nothingLeft()
	if sweep := m.berthDo("sweep"); sweep.status != 0 || hasLine(sweep.stdout, filepath.Base(m.runs()[0])) {
		t.Errorf("sweep, status %d:\n%s", sweep.status, sweep.stdout)
	}
	if _, left := m.running(); len(left) != 1 || left[0].Pid != m.shard.Pid || left[0].State != "running" {
		t.Errorf("%+v, was %+v", left, m.shard)
	}
	close(m.hold.release)
	r := m.run.wait()
	r.expect(t, 0)
	r.ended(t, "passed", "passed", "passed")
	m.nothingLeft()
}

// TestKeepAlways: a kept shard outlives its run and its owner, is listed as kept and never swept.
func TestKeepAlways(t *testing.T) {
	p := newProject(t, sayCases("a"))
	p.options = append(p.options, "keep=always", "deadman=1s")
	r := p.rehearse(echo)
	runID := filepath.Base(r.dir)
	t.Cleanup(func() { removeShards(t, runID) })
	r.expect(t, 0, "kept as ")
	rec := r.record(t)
	if s := rec.Runner.Shards; len(s) != 1 || !s[0].Kept || rec.Environment.Keep != "always" {
		t.Errorf("recorded: keep %q, %+v", rec.Environment.Keep, s)
	}
	if sweep := p.berthDo("sweep"); sweep.status != 0 || hasLine(sweep.stdout, runID) {
		t.Errorf("sweep, status %d:\n%s", sweep.status, sweep.stdout)
	}
	if ps := p.berthDo("ps"); !hasLine(ps.stdout, runID, "running", "dead", "true") {
		t.Errorf("ps:\n%s", ps.stdout)
	}
	// The dead man's switch would have had its time by now: three commands have run since.
	if left := shards(t, runID); len(left) != 1 || left[0].State != "running" {
		t.Errorf("%+v", left)
	}
	p.onlyShardsLeft()
}

// TestKeepFailed keeps the shard that failed, and not the one that did well.
func TestKeepFailed(t *testing.T) {
	m := runMidway(t, "keep=failed")
	runID, _ := m.running()
	t.Cleanup(func() { removeShards(t, runID) })
	kill(t, m.shard.Pid, syscall.SIGKILL)
	r := m.run.wait()
	r.expect(t, 4, "kept as "+m.shard.ID)
	if left := shards(t, runID); len(left) != 1 || left[0].ID != m.shard.ID || left[0].State != "exited" {
		t.Errorf("%+v", left)
	}
	close(m.hold.release)
	good := m.project.run()
	good.expect(t, 0)
	if left := shards(t, filepath.Base(good.dir)); len(left) > 0 {
		t.Errorf("a shard is kept that did well: %+v", left)
	}
	m.onlyShardsLeft()
}

// onlyShardsLeft checks that nothing is left but containers with what Podman runs for these.
func (p *project) onlyShardsLeft() {
	p.t.Helper()
	var left []string
	eventually(func() bool {
		left = nil
		for _, pid := range p.processes(nil) {
			if line := cmdline(pid); !strings.Contains(line, "conmon") {
				left = append(left, line)
			}
		}
		return len(left) == 0
	})
	for _, line := range left {
		p.t.Errorf("left: %s", line)
	}
	p.noFiles()
}

// hasLine tells whether one line holds all words.
func hasLine(text string, words ...string) bool {
	for line := range strings.Lines(text) {
		all := true
		for _, w := range words {
			all = all && strings.Contains(line, w)
		}
		if all {
			return true
		}
	}
	return false
}
