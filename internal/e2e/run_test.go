package e2e

import (
	"bytes"
	"maps"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/berth-run/berth/internal/results"
)

// TestRun is the whole path: a gateway in a process of its own that takes each token for one answer
// only, two variants with both kinds of model, whole cases on two shards.
func TestRun(t *testing.T) {
	here, there := idsOn(0, 2, 2), idsOn(1, 2, 1)
	p := newProject(t, sayCases(append(here, there...)...), func(eval object) {
		eval["variants"] = []object{{"name": "classic"}, {"name": "code", "model": codeMode}}
	})
	p.options = append(p.options, "shards=2")
	end := p.gatewayProcess(strings.Replace(echo, "{", `{"token": {"rotateEvery": 1},`, 1))
	r := p.run()
	r.expect(t, 0)
	want := map[string]string{}
	for _, id := range append(here, there...) {
		want["classic/"+id], want["code/"+id] = "passed", "passed"
	}
	if got := r.outcomes(t); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	rec := r.record(t)
	if rec.Phases != (results.Phases{Collect: "complete", Grade: "complete"}) {
		t.Errorf("phases %+v", rec.Phases)
	}
	for i, n := range []int{2 * len(here), 2 * len(there)} {
		if s := rec.Runner.Shards[i]; s.Index != i || s.Finished != n || s.Error != "" || len(s.Missing) > 0 {
			t.Errorf("shard %d: %+v", i, s)
		}
	}
	if !hasLine(r.stdout, "classic", "3/3", "100%") || !hasLine(r.stdout, "code", "3/3", "100%") {
		t.Errorf("table:\n%s", r.stdout)
	}
	end()
	if log, err := os.ReadFile(p.path("gateway.log")); err != nil || bytes.Count(log, []byte(`"status":401`)) == 0 {
		t.Errorf("no token was refused: %v\n%s", err, log)
	}
	p.nothingLeft()
}

// gatewayProcess runs `berth gateway` and takes what it says to export. The function that it gives
// ends it.
func (p *project) gatewayProcess(script string) (end func()) {
	p.t.Helper()
	out, err := os.Create(p.path("exports"))
	if err != nil {
		p.t.Fatal(err)
	}
	defer out.Close()
	c := p.commandTo(out, "gateway", "--script", p.write("script.json", script), "--listen", "127.0.0.1:0",
		"--token-file", p.path("token"), "--log", p.path("gateway.log"))
	export := regexp.MustCompile(`(?m)^export (\w+)=(?:'(.*)'|(\S+))$`)
	var vars [][]string
	listening := eventually(func() bool {
		text, _ := os.ReadFile(out.Name()) // it's there
		vars = export.FindAllStringSubmatch(string(text), -1)
		return len(vars) == 2
	})
	if !listening {
		p.t.Fatal("berth gateway says nothing to export")
	}
	for _, v := range vars {
		p.env = append(p.env, v[1]+"="+v[2]+v[3])
	}
	return func() {
		c.signal(syscall.SIGTERM)
		c.wait().expect(p.t, 0)
	}
}

// TestFailedCase: a failed case is the run's outcome, and the other cases have theirs.
func TestFailedCase(t *testing.T) {
	wrong := object{"id": "wrong", "input": "say this", "assertions": object{"containsText": "that"}}
	p := newProject(t, []object{says("right"), wrong})
	r := p.rehearse(echo)
	r.expect(t, 1)
	if got, want := r.outcomes(t), (map[string]string{"right": "passed", "wrong": "failed"}); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	p.nothingLeft()
}
