package e2e

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/e2e/rig"
)

// TestTokenCommand: a command that gives no token ends the run before its first trial, with the
// cause and with nothing that it printed.
func TestTokenCommand(t *testing.T) {
	const secret = "sk-live-4711"
	for name, tt := range map[string]struct{ command, want string }{
		"fails":     {"echo " + secret + "; echo " + secret + " >&2; exit 7", "MST_LLM_AUTH_COMMAND failed with exit status 7"},
		"hangs":     {"echo " + secret + "; sleep 600", "MST_LLM_AUTH_COMMAND took more than 30s and was killed"},
		"two lines": {"echo " + secret + "; echo " + secret, "MST_LLM_AUTH_COMMAND printed a text that is not a token: it has more than one line"},
		"nothing":   {"true", "MST_LLM_AUTH_COMMAND printed nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			p := rig.NewProject(t, rig.SayCases("a"))
			g := p.NewGate(rig.Echo)
			p.Env = append(p.Env, "MST_LLM_AUTH_COMMAND="+tt.command)
			r := p.Run()
			unavailable(p, r, tt.want)
			if n := len(g.Entries()); n > 0 {
				t.Errorf("the gateway was asked %d times", n)
			}
			nowhere(p, r, secret)
		})
	}
}

// unavailable checks a run that ended before its first trial since there is no way to the model.
func unavailable(p *rig.Project, r rig.Result, want string) {
	p.T.Helper()
	r.Expect(p.T, 3, "inference_unavailable: "+want)
	if n := strings.Count(r.Stderr, "berth: "); n != 1 {
		p.T.Errorf("%d lines of error, want one", n)
	}
	if got := r.Outcomes(p.T); !maps.Equal(got, map[string]string{"a": "missing"}) {
		p.T.Errorf("outcomes %v", got)
	}
	r.Missing(p.T, "a", want)
	p.NothingLeft()
}

// nowhere checks that a text is in nothing that the run printed or wrote.
func nowhere(p *rig.Project, r rig.Result, secret string) {
	p.T.Helper()
	if strings.Contains(r.Stdout+r.Stderr, secret) {
		p.T.Error("the command's output is shown")
	}
	err := filepath.WalkDir(p.Path("out"), func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		body, err := os.ReadFile(path)
		if strings.Contains(string(body), secret) {
			p.T.Errorf("the command's output is in %s", path)
		}
		return err
	})
	if err != nil {
		p.T.Error(err)
	}
}

// TestGatewayUnavailable: what is wrong with a gateway is told before the first trial, with the
// phase that failed.
func TestGatewayUnavailable(t *testing.T) {
	for name, tt := range map[string]struct {
		prepare func(t *testing.T, p *rig.Project)
		want    string
	}{
		"refuses": {func(t *testing.T, p *rig.Project) { p.NewGate(rig.Echo).Die() }, "connect: "},
		"no such host": {func(t *testing.T, p *rig.Project) {
			p.Env = append(p.Env, "OPENAI_BASE_URL=http://gateway.invalid/v1", "OPENAI_API_KEY=k")
		}, "dns: "},
		"no TLS": {func(t *testing.T, p *rig.Project) {
			g := p.NewGate(rig.Echo)
			p.Env = append(p.Env, "OPENAI_BASE_URL="+strings.Replace(g.URL, "http:", "https:", 1)+"/v1")
		}, "tls: "},
		"hangs": {func(t *testing.T, p *rig.Project) {
			s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
			t.Cleanup(s.Close)
			p.Env = append(p.Env, "OPENAI_BASE_URL="+s.URL+"/v1", "OPENAI_API_KEY=k")
		}, "status: "},
		"401": {func(t *testing.T, p *rig.Project) {
			p.NewGate(rig.Echo)
			p.Env = append(p.Env, "MST_LLM_AUTH_COMMAND=echo another-token")
		}, "status: "},
		"lists another model": {func(t *testing.T, p *rig.Project) {
			p.NewGate(strings.Replace(rig.Echo, rig.Classic, "gpt-1", 1))
		}, `the gateway doesn't list model "gpt-5.5"; it lists gpt-1, gpt-6-luna`},
	} {
		t.Run(name, func(t *testing.T) {
			p := rig.NewProject(t, rig.SayCases("a"))
			tt.prepare(t, p)
			unavailable(p, p.Run(), tt.want)
		})
	}
}

// TestBrokenStreams: Codex asks again for what was cut. What never comes through isn't the app's
// failure, but infrastructure's, and the other trials aren't touched.
func TestBrokenStreams(t *testing.T) {
	p := rig.NewProject(t, rig.SayCases("whole", "cut-once", "cut-always", "refused"))
	r := p.Rehearse(`{"models": ["gpt-5.5"], "rules": [
		{"match": {"contains": "cut-once"}, "faults": [{"cut": true, "times": 1}], "steps": [{"text": "{{prompt}}"}]},
		{"match": {"contains": "cut-always"}, "faults": [{"cut": true}], "steps": [{"text": "{{prompt}}"}]},
		{"match": {"contains": "refused"}, "faults": [{"status": 401}], "steps": [{"text": "{{prompt}}"}]},
		{"steps": [{"text": "{{prompt}}"}]}]}`)
	r.Expect(t, 4)
	want := map[string]string{"whole": "passed", "cut-once": "passed", "cut-always": "infra", "refused": "infra"}
	if got := r.Outcomes(t); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for _, id := range []string{"cut-always", "refused"} {
		if kind := rig.FailureCode(r.Trials(t)[id]); kind != string(code.ClientRunFailed) {
			t.Errorf("%s: failure kind %q", id, kind)
		}
	}
	p.NothingLeft()
}

// TestStalledModel: a model that doesn't answer in the trial's time has failed it, whether it has
// begun to or not. That time is enough to have sent the prompt, on a machine that is busy, too.
func TestStalledModel(t *testing.T) {
	silent, halfway := rig.IdsOn(0, 2, 1)[0], rig.IdsOn(1, 2, 1)[0]
	p := rig.NewProject(t, rig.SayCases(silent, halfway), func(eval rig.Object) {
		eval["clientOptions"] = rig.Object{"timeout": 30_000}
	})
	p.Options = append(p.Options, "shards=2") // side by side
	r := p.Rehearse(fmt.Sprintf(`{"models": ["gpt-5.5"], "rules": [
		{"match": {"contains": %q}, "faults": [{"stall": "before"}], "steps": [{"text": "{{prompt}}"}]},
		{"match": {"contains": %q}, "faults": [{"stall": "stream"}], "steps": [{"text": "{{prompt}}"}]}]}`, silent, halfway))
	r.Expect(t, 1)
	if got, want := r.Outcomes(t), (map[string]string{silent: "failed", halfway: "failed"}); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for _, id := range []string{silent, halfway} {
		if kind := rig.FailureCode(r.Trials(t)[id]); kind != string(code.Timeout) {
			t.Errorf("%s: failure kind %q", id, kind)
		}
	}
	p.NothingLeft()
}

// TestGatewayDies in the middle of a trial: its stream is cut, and connections are refused from then
// on.
func TestGatewayDies(t *testing.T) {
	p := rig.NewProject(t, rig.SayCases("first", "second"))
	g := p.NewGate(rig.Echo)
	h := g.Hold("say second")
	c := p.Start()
	h.Await(t)
	g.Die()
	r := c.Wait()
	r.Expect(t, 4, "connection refused")
	if got, want := r.Outcomes(t), (map[string]string{"first": "passed", "second": "infra"}); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	p.NothingLeft()
}
