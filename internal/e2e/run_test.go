package e2e

import (
	"bytes"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/berth-run/berth/internal/e2e/rig"
	"github.com/berth-run/berth/internal/results"
)

// TestRun is the whole path: a gateway in a process of its own that takes each token for one answer
// only, two variants with both kinds of model, whole cases on two shards.
func TestRun(t *testing.T) {
	here, there := rig.IdsOn(0, 2, 2), rig.IdsOn(1, 2, 1)
	p := rig.NewProject(t, rig.SayCases(append(here, there...)...), func(eval rig.Object) {
		eval["variants"] = []rig.Object{{"name": "classic"}, {"name": "code", "model": rig.CodeMode}}
	})
	p.Options = append(p.Options, "shards=2")
	end := p.GatewayProcess(strings.Replace(rig.Echo, "{", `{"token": {"rotateEvery": 1},`, 1))
	r := p.Run()
	r.Expect(t, 0)
	want := map[string]string{}
	for _, id := range append(here, there...) {
		want["classic/"+id], want["code/"+id] = "passed", "passed"
	}
	if got := r.Outcomes(t); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	rec := r.Record(t)
	if rec.Phases != (results.Phases{Collect: "complete", Grade: "complete"}) {
		t.Errorf("phases %+v", rec.Phases)
	}
	for i, n := range []int{2 * len(here), 2 * len(there)} {
		if s := rec.Runner.Shards[i]; s.Index != i || s.Finished != n || s.Error != "" || len(s.Missing) > 0 {
			t.Errorf("shard %d: %+v", i, s)
		}
	}
	if !rig.HasLine(r.Stdout, "classic", "3/3", "100%") || !rig.HasLine(r.Stdout, "code", "3/3", "100%") {
		t.Errorf("table:\n%s", r.Stdout)
	}
	end()
	if log, err := os.ReadFile(p.Path("gateway.log")); err != nil || bytes.Count(log, []byte(`"status":401`)) == 0 {
		t.Errorf("no token was refused: %v\n%s", err, log)
	}
	p.NothingLeft()
}

// TestFailedCase: a failed case is the run's outcome, and the other cases have theirs.
func TestFailedCase(t *testing.T) {
	wrong := rig.Object{"id": "wrong", "input": "say this", "assertions": rig.Object{"containsText": "that"}}
	p := rig.NewProject(t, []rig.Object{rig.Says("right"), wrong})
	r := p.Rehearse(rig.Echo)
	r.Expect(t, 1)
	if got, want := r.Outcomes(t), (map[string]string{"right": "passed", "wrong": "failed"}); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	p.NothingLeft()
}
