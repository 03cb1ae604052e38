package results

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/berth-run/berth/internal/evalconfig"
	"github.com/berth-run/berth/internal/evalconfig/evalconfigtest"
	"github.com/berth-run/berth/internal/shardproto"
	"github.com/berth-run/berth/internal/trace"
	"github.com/berth-run/berth/session/client"
)

var start = time.Date(2026, 10, 7, 18, 25, 4, 0, time.UTC)

const secretAnswer = "THE-ANSWER-144"

// sampleEval has two variants, three cases with two trials, and a planted secret.
func sampleEval(t *testing.T, redact bool) *evalconfig.Eval {
	t.Helper()
	config := map[string]any{
		"name": "sample eval", "datasets": []string{"cases.json"}, "client": "berth/client/codex", "model": "m", "trials": 2,
		"redactStoredResponses": redact,
		"servers": map[string]any{"calc": map[string]any{"transport": "stdio", "command": "/bin/calc",
			"args": []string{"--api-token", "PLANTED-ARG", "--secret=PLANTED-EQ", "-v"}, "env": map[string]string{"CALC_KEY": "PLANTED-ENV"}}},
		"clientOptions": map[string]any{"env": map[string]string{"MY_TOKEN": "PLANTED-OPTION", "LEVEL": "warn"}},
		"variants":      []any{map[string]any{"name": "plain", "servers": []string{}}, map[string]any{"name": "with/tools"}},
		"pricing":       map[string]any{"m": map[string]any{"input": 2, "output": 10, "cacheRead": 0.5}},
	}
	cases := `{"name": "d", "cases": [
	  {"id": "sum", "input": "12*12?", "assertions": {"containsText": "144"}},
	  {"id": "tool", "input": "use it", "assertions": {"toolsTriggered": {"calls": [{"name": "calc.add"}]}}},
	  {"id": "free", "input": "hello", "tags": ["x"], "passThreshold": 0.5}]}`
	raw, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	return evalconfigtest.Resolve(t, string(raw), cases)
}

func sampleRunner() *Runner {
	return &Runner{Name: "podman", Engine: Engine{Name: "podman", Version: "4.3.1", Runtime: "crun 1.8.1", Rootless: true},
		Image: Image{Ref: "berth-codex:0.1.0", Digest: "sha256:abc"}, Versions: map[string]string{"codex": "0.171.0"},
		Inference: "gateway", Credential: "file", Network: "none", LimitsMode: "best-effort", NotEnforced: []string{"memory"},
		Limits: Limits{MemoryBytes: 2 << 30, Pids: 512, CPUWeight: 100}}
}

// newRun starts a run of e in a new folder.
func newRun(t *testing.T, e *evalconfig.Eval, dir string, at time.Time) *Run {
	t.Helper()
	rec := NewRecord(NewRunID(at), e, Environment{Name: "podman", Shards: 2, Options: map[string]string{"shards": "2"}}, sampleRunner(), at)
	r, err := Create(dir, rec)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// answered is a trial that went well: the answer, and a call of the tool where there is one.
func answered(k shardproto.Key) client.Result {
	tr := &trace.Trace{FinalText: secretAnswer, Evidence: trace.EvidenceStructured, Events: []trace.Event{},
		Usage: &trace.Usage{InputTokens: 1000, OutputTokens: 100, CacheReadInputTokens: 10, DurationMs: 900}}
	if k.Variant == "with/tools" {
		tr.Events = append(tr.Events, trace.Event{Kind: trace.KindToolCall, Source: trace.SourceMCP, Server: "calc", Name: "add",
			Arguments: json.RawMessage(`{"a":1}`), Output: json.RawMessage(`"` + secretAnswer + `"`)})
	}
	return client.Result{Trace: tr, DurationMs: 1000, Submitted: true, SessionID: "s", TurnID: "t", Steps: map[string]float64{"start": 12.5},
		Metadata: map[string]any{"nativeReadiness": client.Readiness{Login: "not-run", Inference: "gateway", MCPPreflight: []client.ServerStatus{}}}}
}

// collect runs every trial of e through result and saves it; a nil result stays missing.
func collect(t *testing.T, r *Run, e *evalconfig.Eval, result func(shardproto.Key) *client.Result) map[shardproto.Key]*Trial {
	t.Helper()
	trials := map[shardproto.Key]*Trial{}
	for _, v := range e.Variants {
		for _, c := range e.Cases {
			for n := range c.Trials {
				k := shardproto.Key{Variant: v.Name, CaseID: c.ID, Trial: n}
				res := result(k)
				if res == nil {
					continue
				}
				tr := FromResult(r.Record().RunID, c.Dataset, k, *res)
				trials[k] = &tr
				if err := r.SaveTrial(tr); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	return trials
}

func allAnswered(k shardproto.Key) *client.Result {
	r := answered(k)
	return &r
}

func finish(t *testing.T, r *Run, e *evalconfig.Eval, trials map[shardproto.Key]*Trial, graded bool) *Finished {
	t.Helper()
	f, err := r.Finish(e, trials, graded, start.Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	return f
}
