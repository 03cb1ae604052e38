package e2e

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-run/berth/internal/code"
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
			p := newProject(t, sayCases("a"))
			g := p.newGate(echo)
			p.env = append(p.env, "MST_LLM_AUTH_COMMAND="+tt.command)
			r := p.run()
			p.unavailable(r, tt.want)
			if n := len(g.entries()); n > 0 {
				t.Errorf("the gateway was asked %d times", n)
			}
			p.nowhere(r, secret)
		})
	}
}

// unavailable checks a run that ended before its first trial since there is no way to the model.
func (p *project) unavailable(r result, want string) {
	p.t.Helper()
	r.expect(p.t, 3, "inference_unavailable: "+want)
	if n := strings.Count(r.stderr, "berth: "); n != 1 {
		p.t.Errorf("%d lines of error, want one", n)
	}
	if got := r.outcomes(p.t); !maps.Equal(got, map[string]string{"a": "missing"}) {
		p.t.Errorf("outcomes %v", got)
	}
	r.missing(p.t, "a", want)
	p.nothingLeft()
}

// nowhere checks that a text is in nothing that the run printed or wrote.
func (p *project) nowhere(r result, secret string) {
	p.t.Helper()
	if strings.Contains(r.stdout+r.stderr, secret) {
		p.t.Error("the command's output is shown")
	}
	err := filepath.WalkDir(p.path("out"), func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		body, err := os.ReadFile(path)
		if strings.Contains(string(body), secret) {
			p.t.Errorf("the command's output is in %s", path)
		}
		return err
	})
	if err != nil {
		p.t.Error(err)
	}
}

// TestGatewayUnavailable: what is wrong with a gateway is told before the first trial, with the
// phase that failed.
func TestGatewayUnavailable(t *testing.T) {
	for name, tt := range map[string]struct {
		prepare func(t *testing.T, p *project)
		want    string
	}{
		"refuses": {func(t *testing.T, p *project) { p.newGate(echo).die() }, "connect: "},
		"no such host": {func(t *testing.T, p *project) {
			p.env = append(p.env, "OPENAI_BASE_URL=http://gateway.invalid/v1", "OPENAI_API_KEY=k")
		}, "dns: "},
		"no TLS": {func(t *testing.T, p *project) {
			g := p.newGate(echo)
			p.env = append(p.env, "OPENAI_BASE_URL="+strings.Replace(g.URL, "http:", "https:", 1)+"/v1")
		}, "tls: "},
		"hangs": {func(t *testing.T, p *project) {
			s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
			t.Cleanup(s.Close)
			p.env = append(p.env, "OPENAI_BASE_URL="+s.URL+"/v1", "OPENAI_API_KEY=k")
		}, "status: "},
		"401": {func(t *testing.T, p *project) {
			p.newGate(echo)
			p.env = append(p.env, "MST_LLM_AUTH_COMMAND=echo another-token")
		}, "status: "},
		"lists another model": {func(t *testing.T, p *project) {
			p.newGate(strings.Replace(echo, classic, "gpt-1", 1))
		}, `the gateway doesn't list model "gpt-5.5"; it lists gpt-1, gpt-6-luna`},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t, sayCases("a"))
			tt.prepare(t, p)
			p.unavailable(p.run(), tt.want)
		})
	}
}

// TestBrokenStreams: Codex asks again for what was cut. What never comes through isn't the app's
// failure, but infrastructure's, and the other trials aren't touched.
func TestBrokenStreams(t *testing.T) {
	p := newProject(t, sayCases("whole", "cut-once", "cut-always", "refused"))
	r := p.rehearse(`{"models": ["gpt-5.5"], "rules": [
		{"match": {"contains": "cut-once"}, "faults": [{"cut": true, "times": 1}], "steps": [{"text": "{{prompt}}"}]},
		{"match": {"contains": "cut-always"}, "faults": [{"cut": true}], "steps": [{"text": "{{prompt}}"}]},
		{"match": {"contains": "refused"}, "faults": [{"status": 401}], "steps": [{"text": "{{prompt}}"}]},
		{"steps": [{"text": "{{prompt}}"}]}]}`)
	r.expect(t, 4)
	want := map[string]string{"whole": "passed", "cut-once": "passed", "cut-always": "infra", "refused": "infra"}
	if got := r.outcomes(t); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for _, id := range []string{"cut-always", "refused"} {
		if kind := failureKind(r.trials(t)[id]); kind != string(code.ClientRunFailed) {
			t.Errorf("%s: failure kind %q", id, kind)
		}
	}
	p.nothingLeft()
}

// TestStalledModel: a model that doesn't answer in the trial's time has failed it, whether it has
// begun to or not.
func TestStalledModel(t *testing.T) {
	p := newProject(t, sayCases("silent", "halfway"), func(eval object) {
		eval["clientOptions"] = object{"timeout": 8000}
	})
	r := p.rehearse(`{"models": ["gpt-5.5"], "rules": [
		{"match": {"contains": "silent"}, "faults": [{"stall": "before"}], "steps": [{"text": "{{prompt}}"}]},
		{"match": {"contains": "halfway"}, "faults": [{"stall": "stream"}], "steps": [{"text": "{{prompt}}"}]}]}`)
	r.expect(t, 1)
	if got, want := r.outcomes(t), (map[string]string{"silent": "failed", "halfway": "failed"}); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for _, id := range []string{"silent", "halfway"} {
		if kind := failureKind(r.trials(t)[id]); kind != string(code.Timeout) {
			t.Errorf("%s: failure kind %q", id, kind)
		}
	}
	p.nothingLeft()
}

// TestGatewayDies in the middle of a trial: its stream is cut, and connections are refused from then
// on.
func TestGatewayDies(t *testing.T) {
	p := newProject(t, sayCases("first", "second"))
	g := p.newGate(echo)
	h := g.hold("say second")
	c := p.start()
	h.await(t)
	g.die()
	r := c.wait()
	r.expect(t, 4, "connection refused")
	if got, want := r.outcomes(t), (map[string]string{"first": "passed", "second": "infra"}); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	p.nothingLeft()
}
