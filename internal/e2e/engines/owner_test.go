package engines

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/berth-run/berth/internal/e2e/rig"
	"github.com/berth-run/berth/internal/shardproto"
)

// coordinatorKilled: what a killed berth leaves is found by name of its run, told by ps and by a
// dry sweep, and removed by the next run's start; here by the one that resumes it.
func coordinatorKilled(t *testing.T, tools rig.Tools) {
	m := tools.Midway(t)
	runID, _ := m.Running()
	if len(m.Processes(nil)) == 0 {
		t.Fatal("no process carries the mark, so none would be found to be left")
	}
	m.Run.Signal(syscall.SIGKILL)
	m.Run.Wait()
	m.OnlyShardsLeft()

	if ps := m.OnEngine("ps"); !rig.HasLine(ps.Stdout, runID, "running", "dead", "false") {
		t.Errorf("ps:\n%s", ps.Stdout)
	}
	if dry := m.OnEngine("sweep", "--dry-run"); dry.Status != 0 || !rig.HasLine(dry.Stdout, "would remove", runID) {
		t.Errorf("dry sweep, status %d:\n%s", dry.Status, dry.Stdout)
	}
	if left := tools.Engine.Shards(t, runID); len(left) != 1 || left[0].State != "running" {
		t.Errorf("after looking: %+v", left)
	}

	close(m.Hold.Release)
	r := m.Project.Run("--resume", runID)
	r.Expect(t, 0, "[berth] removed ", "left by run "+runID)
	r.Ended(t, "passed", "passed", "passed")
	if n := m.Gate.Asked("say first"); n != 1 {
		t.Errorf("the finished trial was asked %d times", n)
	}
	m.NothingLeft()
	m.NoTrace(m.Shard.ID)
}

// deadman is time enough for who is alive to be heard, on a machine that is busy, too.
const deadman = 20 * time.Second

// deadMansSwitch: a shard whose owner is gone, and that nobody sweeps, ends itself. One whose
// owner is alive doesn't, however little there is to say.
func deadMansSwitch(t *testing.T, tools rig.Tools) {
	m := tools.Midway(t, "deadman="+deadman.String())
	time.Sleep(deadman + 2*time.Second) // what is awaited is that nothing happens
	runID, up := m.Running()
	if len(up) != 1 || up[0].State != "running" {
		t.Fatalf("with its owner alive: %+v", up)
	}
	m.Run.Signal(syscall.SIGKILL)
	m.Run.Wait()
	if status := tools.Engine.Wait(t, m.Shard.ID); status != shardproto.ExitSilent {
		t.Errorf("PID 1 ended with %d, want %d", status, shardproto.ExitSilent)
	}
	m.OnlyShardsLeft()
	if sweep := m.OnEngine("sweep"); sweep.Status != 0 || !rig.HasLine(sweep.Stdout, "removed", runID) {
		t.Errorf("sweep, status %d:\n%s%s", sweep.Status, sweep.Stdout, sweep.Stderr)
	}
	m.NothingLeft()
	m.NoTrace(m.Shard.ID)
}

// sideBySide: a run neither sweeps nor ends what belongs to another that is alive.
func sideBySide(t *testing.T, tools rig.Tools) {
	m := tools.Midway(t)
	other := tools.Project(t, rig.SayCases("other"))
	other.Rehearse(rig.Echo).Expect(t, 0)
	other.NothingLeft()
	if sweep := m.OnEngine("sweep"); sweep.Status != 0 || rig.HasLine(sweep.Stdout, filepath.Base(m.Runs()[0])) {
		t.Errorf("sweep, status %d:\n%s", sweep.Status, sweep.Stdout)
	}
	if _, left := m.Running(); len(left) != 1 || left[0].Pid != m.Shard.Pid || left[0].State != "running" {
		t.Errorf("%+v, was %+v", left, m.Shard)
	}
	close(m.Hold.Release)
	r := m.Run.Wait()
	r.Expect(t, 0)
	r.Ended(t, "passed", "passed", "passed")
	m.NothingLeft()
}

// keepAlways: a kept shard outlives its run and its owner, is listed as kept and never swept.
func keepAlways(t *testing.T, tools rig.Tools) {
	p := tools.Project(t, rig.SayCases("a"))
	p.Options = append(p.Options, "keep=always", "deadman="+deadman.String())
	r := p.Rehearse(rig.Echo)
	runID := filepath.Base(r.Dir)
	defer p.RemoveShards(runID)
	r.Expect(t, 0, "kept as ")
	ended := time.Now()
	rec := r.Record(t)
	if s := rec.Runner.Shards; len(s) != 1 || !s[0].Kept || rec.Environment.Keep != "always" {
		t.Errorf("recorded: keep %q, %+v", rec.Environment.Keep, s)
	}
	if sweep := p.OnEngine("sweep"); sweep.Status != 0 || rig.HasLine(sweep.Stdout, runID) {
		t.Errorf("sweep, status %d:\n%s", sweep.Status, sweep.Stdout)
	}
	if ps := p.OnEngine("ps"); !rig.HasLine(ps.Stdout, runID, "running", "dead", "true") {
		t.Errorf("ps:\n%s", ps.Stdout)
	}
	time.Sleep(time.Until(ended.Add(deadman + 2*time.Second))) // what is awaited is that nothing happens
	if left := tools.Engine.Shards(t, runID); len(left) != 1 || left[0].State != "running" {
		t.Errorf("%+v", left)
	}
	p.OnlyShardsLeft()
}

// keepFailed keeps the shard that failed, and not the one that did well.
func keepFailed(t *testing.T, tools rig.Tools) {
	m := tools.Midway(t, "keep=failed")
	runID, _ := m.Running()
	defer m.RemoveShards(runID)
	rig.Kill(t, m.Shard.Pid, syscall.SIGKILL)
	r := m.Run.Wait()
	r.Expect(t, 4, "kept as "+m.Shard.ID)
	if left := tools.Engine.Shards(t, runID); len(left) != 1 || left[0].ID != m.Shard.ID || left[0].State != "exited" {
		t.Errorf("%+v", left)
	}
	close(m.Hold.Release)
	good := m.Project.Run()
	good.Expect(t, 0)
	if left := tools.Engine.Shards(t, filepath.Base(good.Dir)); len(left) > 0 {
		t.Errorf("a shard is kept that did well: %+v", left)
	}
	m.OnlyShardsLeft()
}

// twoPIDNamespaces has one berth here and another in a PID namespace of its own, as in a container that the
// engine's socket is mounted into, under the same host name. Of the other's owner neither sees a process with
// that number, or sees another one: still neither sweeps what the other has, by a sweep or at a run's start.
func twoPIDNamespaces(t *testing.T, tools rig.Tools) {
	shared := tools.Engine.Share(t)
	here := tools.Project(t, rig.SayCases("first", "second", "third"))
	there := tools.Project(t, rig.SayCases("first", "second", "third"))
	there.InPIDNamespace()
	for _, p := range []*rig.Project{here, there} {
		p.Env = append(p.Env, shared...)
	}
	hereRun, thereRun := here.Midway(), there.Midway()
	spares(t, here, thereRun)
	spares(t, there, hereRun)
	for _, m := range []rig.Midway{hereRun, thereRun} {
		close(m.Hold.Release)
		r := m.Run.Wait()
		r.Expect(t, 0)
		r.Ended(t, "passed", "passed", "passed")
		m.AskedOnce("first", "second", "third")
	}
	// What Podman runs beside an exec is seen, and ended, by who sees the engine's processes.
	here.OnEngine("sweep").Expect(t, 0)
	here.NothingLeft()
	there.NothingLeft()
}

// spares checks that nothing which p's berths do touches another's run under way.
func spares(t *testing.T, p *rig.Project, other rig.Midway) {
	t.Helper()
	runID, _ := other.Running()
	if ps := p.OnEngine("ps"); !rig.HasLine(ps.Stdout, runID, "running", "unknown", "false") {
		t.Errorf("ps:\n%s", ps.Stdout)
	}
	for _, args := range [][]string{{"--dry-run"}, nil} {
		if sweep := p.OnEngine("sweep", args...); sweep.Status != 0 || rig.HasLine(sweep.Stdout, runID) {
			t.Errorf("sweep %v, status %d:\n%s", args, sweep.Status, sweep.Stdout)
		}
	}
	another := *p
	another.Out = p.Path("another")
	r := another.Rehearse(rig.Echo)
	r.Expect(t, 0)
	if rig.HasLine(r.Stderr, "removed", runID) {
		t.Errorf("the run's start swept:\n%s", r.Stderr)
	}
	if _, left := other.Running(); len(left) != 1 || left[0].Pid != other.Shard.Pid || left[0].State != "running" {
		t.Errorf("%+v, was %+v", left, other.Shard)
	}
}
