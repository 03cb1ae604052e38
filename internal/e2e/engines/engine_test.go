package engines

import (
	"testing"

	"github.com/berth-run/berth/internal/e2e/rig"
)

// engineRestarted kills the engine in the middle of a trial. Shards live on without it, and so does the
// trial, through a link that is opened again.
func engineRestarted(t *testing.T, tools rig.Tools) {
	m := tools.Midway(t)
	tools.Engine.Restart(m.Project)
	close(m.Hold.Release)
	r := m.Run.Wait()
	r.Expect(t, 0)
	r.Ended(t, "passed", "passed", "passed")
	m.AskedOnce("first", "third")
	m.NothingLeft()
}

// engineStopped: without its engine berth can bring nothing home and remove nothing. It says what is
// left, and when the engine is back a sweep removes it.
func engineStopped(t *testing.T, tools rig.Tools) {
	p := tools.Project(t, rig.SayCases("first", "second", "third"))
	tools.Engine.Stoppable(p)
	m := p.Midway()
	tools.Engine.Stop(p)
	r := m.Run.Wait()
	r.Expect(t, 4, "shard_lost: ", "container "+m.Shard.ID+" is left on the engine; `berth sweep` removes it")
	r.Ended(t, "passed", "infra", "missing")
	r.Missing(t, "third", "shard_lost: ")
	tools.Engine.Start(p)
	m.OnEngine("sweep").Expect(t, 0)
	m.NothingLeft()
}
