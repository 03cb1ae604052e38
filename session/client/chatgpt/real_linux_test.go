package chatgpt

import (
	"context"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/berth-run/berth/session/client"
	"github.com/berth-run/berth/session/client/chatgpt/driver"
	"github.com/berth-run/berth/session/client/evidence"
	"github.com/berth-run/berth/session/client/turn"
)

const script = `{
  "models": ["gpt-5.5", "gpt-6-luna"],
  "rules": [
    {"name": "sum", "match": {"contains": "add"}, "steps": [
      {"mcp": {"server": "my-notes", "tool": "add", "arguments": {"a": 19, "b": 23}}},
      {"text": "It is {{output}}."}]},
    {"name": "env", "match": {"exact": "env"}, "steps": [{"command": {"cmd": "env"}}, {"text": "{{output}}"}]},
    {"name": "left", "match": {"exact": "leave"}, "steps": [
      {"command": {"cmd": "setsid sleep 1000 >/dev/null 2>&1 & (setsid sleep 1000 &) >/dev/null 2>&1; chmod 000 .; echo left"}},
      {"text": "{{output}}"}]},
    {"name": "hang", "match": {"exact": "hang"}, "faults": [{"stall": "before"}], "steps": [{"text": "never"}]},
    {"name": "too many", "match": {"exact": "429"}, "faults": [{"status": 429}], "steps": [{"text": "never"}]},
    {"name": "echo", "steps": [{"text": "You said: {{prompt}}"}]}
  ]
}`

// TestTwoBatches: two variants one after the other on one desktop, each with a fresh profile that goes
// through the whole first run, on the two surfaces, with both kinds of model.
func TestTwoBatches(t *testing.T) {
	r := newRig(t, script, "")
	r.client.opts.Limits.Driver.Settle = 0 // the contract's, as the stand-in routes late by itself
	prompts := map[string]string{"add 19 and 23": "42", "Grüße & 漢字:\n\nfour `words` + 100 %": "+ 100 %"}
	tests := []struct {
		surface    driver.Surface
		model      string
		originator string
	}{{driver.Work, "gpt-5.5", "codex_work_desktop"}, {driver.Codex, "gpt-6-luna", "Codex Desktop"}}
	turns := map[string]bool{}
	for _, tt := range tests {
		r.batch.Model = tt.model
		r.batch.Options = json.RawMessage(`{"surface": "` + string(tt.surface) + `", "reasoningEffort": "high"}`)
		r.batch.Servers = []client.Server{notes(t, "my-notes")}
		r.batch.Trials = len(prompts)
		s := r.open()
		for i, p := range slices.Sorted(maps.Keys(prompts)) {
			res := r.passes(s, client.Trial{CaseID: "case", Trial: i, Prompt: p})
			if !strings.Contains(res.Trace.FinalText, prompts[p]) {
				t.Errorf("answer %q, want one with %q", res.Trace.FinalText, prompts[p])
			}
			if engine := res.Metadata["codex"].(map[string]any); engine["originator"] != tt.originator || engine["reasoningEffort"] != "high" {
				t.Errorf("engine %v", engine)
			}
			turns[res.TurnID] = true
		}
		must(t, s.Close(context.Background()))
	}
	if n := len(tests) * len(prompts); len(turns) != n || r.journal()["send"] != n {
		t.Errorf("%d turns, and the app saw %v; want %d of each", len(turns), r.journal(), n)
	}
	if n := len(r.requests()); n != 6 { // a call of a tool takes two
		t.Errorf("the gateway had %d requests, want 6", n)
	}
}

// passes runs a trial that must.
func (r *rig) passes(s client.Session, trial client.Trial) client.Result {
	r.t.Helper()
	res := s.Run(within(r.t, unhurried), trial)
	if res.FailureCode != "" || res.Error != "" || res.Infrastructure || !res.Submitted || res.Trace == nil {
		r.show()
		r.t.Fatalf("%q: %s: %s (submitted %v)", trial.Prompt, res.FailureCode, res.Error, res.Submitted)
	}
	if c := res.Metadata["correlation"].(map[string]any); c["promptSha256"] != turn.SHA256(trial.Prompt) || c["promptUnchanged"] != true {
		r.t.Errorf("correlation %v", c)
	}
	if files := r.files(res); !slices.Equal(files, []string{"matched-rollout"}) {
		r.t.Errorf("evidence %v", files)
	}
	for _, step := range []string{StepSubmit, StepTurn, StepCodexTurn, StepEvidence} {
		if res.Steps[step] <= 0 {
			r.t.Errorf("no time of step %s in %v", step, res.Steps)
		}
	}
	r.t.Logf("%q: %d ms: %v", trial.Prompt, res.DurationMs, res.Steps)
	return res
}

// files are the names of a trial's evidence, up to what differs each time.
func (r *rig) files(res client.Result) []string {
	r.t.Helper()
	var names []string
	for _, a := range res.Metadata["artifacts"].([]evidence.Artifact) {
		name := filepath.Base(a.Path)
		if strings.HasPrefix(name, client.RecordPrefix) {
			name = client.RecordPrefix + "rollout"
		}
		if a.Bytes == 0 {
			r.t.Errorf("%s is empty", a.Path)
		}
		names = append(names, name)
	}
	return names
}
