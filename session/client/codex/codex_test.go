package codex

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/berth-run/berth/internal/trace"
	"github.com/berth-run/berth/session/client"
	"github.com/berth-run/berth/session/client/evidence"
	"github.com/berth-run/berth/session/client/turn"
)

const script = `{
  "models": ["gpt-5.5", "gpt-6-luna"],
  "usage": {"input": 100, "cached": 40, "output": 10, "reasoning": 4},
  "rules": [
    {"name": "plain", "match": {"exact": "say hi"}, "steps": [{"text": "Hi, this is {{model}}."}]},
    {"name": "sum", "match": {"contains": "add"}, "steps": [
      {"mcp": {"server": "my-notes", "tool": "add", "arguments": {"a": 19, "b": 23}}},
      {"text": "It is {{output}}."}]},
    {"name": "shell", "match": {"regex": "^run"}, "steps": [
      {"command": {"cmd": "echo $((6*7)) $(cat /proc/$PPID/comm)"}},
      {"text": "{{output}}"}]},
    {"name": "echo", "steps": [{"text": "You said: {{prompt}}"}]}
  ]
}`

var models = []string{"gpt-5.5", "gpt-6-luna"} // function tools; scripts

// TestTrials runs every kind of answer through the real Codex, with both kinds of model.
func TestTrials(t *testing.T) {
	call := trace.Event{
		Kind: "tool_call", Source: "mcp", Server: "my-notes", Name: "add", RawName: "mcp__my_notes__add",
		Output: json.RawMessage(`{"content":[{"type":"text","text":"{\"sum\":42}"}],"structuredContent":{"sum":42}}`),
	}
	command := trace.Event{Kind: "command", Source: "builtin", Name: "exec_command"}
	exec := trace.Event{Kind: "tool_call", Source: "builtin", Name: "exec", RawName: "functions.exec"}
	tests := []struct {
		prompt  string
		final   string
		events  []trace.Event // of a classic model; a code-mode model's begin with exec
		replies int64         // requests to the gateway
	}{
		{prompt: "say hi", final: "Hi, this is MODEL.", replies: 1},
		{prompt: "add 19 and 23", final: "42", events: []trace.Event{call}, replies: 2},
		{prompt: "run it", final: "42 codex", events: []trace.Event{command}, replies: 2},
		{prompt: "`tick` *star* \\_ é\n\n  \"q\" <b>", final: "You said: `tick` *star* \\_ é\n\n  \"q\" <b>", replies: 1},
	}
	for _, model := range models {
		t.Run(model, func(t *testing.T) {
			r := newRig(t, model, script)
			r.batch.Options = json.RawMessage(`{"reasoningEffort":"high","timeout":60000}`)
			r.batch.Servers = []client.Server{notes(t, "my-notes")}
			s := r.open()
			checkReadiness(t, s.Readiness())
			sessions := map[string]bool{}
			for i, tt := range tests {
				res := s.Run(unhurried(t), client.Trial{CaseID: "case " + tt.prompt, Trial: i, Prompt: tt.prompt})
				if res.FailureCode != "" || res.Error != "" || res.Infrastructure || !res.Submitted {
					t.Fatalf("%q: %s: %s (infrastructure %v)", tt.prompt, res.FailureCode, res.Error, res.Infrastructure)
				}
				if want := strings.ReplaceAll(tt.final, "MODEL", model); !strings.Contains(res.Trace.FinalText, want) {
					t.Errorf("%q: final text %q, want %q", tt.prompt, res.Trace.FinalText, want)
				}
				want := tt.events
				if model == "gpt-6-luna" && want != nil {
					want = append([]trace.Event{exec}, want...)
				}
				checkEvents(t, want, res.Trace.Events)
				usage := &trace.Usage{
					InputTokens: 60 * tt.replies, CacheReadInputTokens: 40 * tt.replies,
					OutputTokens: 10 * tt.replies, ReasoningOutputTokens: 4 * tt.replies,
				}
				if d := cmp.Diff(usage, res.Trace.Usage, cmpopts.IgnoreFields(trace.Usage{}, "DurationMs")); d != "" {
					t.Errorf("%q: usage (-want +got):\n%s", tt.prompt, d)
				}
				checkEvidence(t, r, res, tt.prompt)
				sessions[res.SessionID] = true
			}
			if len(sessions) != len(tests) {
				t.Errorf("%d sessions for %d trials", len(sessions), len(tests))
			}
			var replies int64
			for _, tt := range tests {
				replies += tt.replies
			}
			if got := r.requests(); int64(len(got)) != replies {
				t.Errorf("the gateway saw %d requests, want %d", len(got), replies)
			}
		})
	}
}

func checkReadiness(t *testing.T, r client.Readiness) {
	t.Helper()
	want := client.Readiness{
		ExecutionPolicy: "danger-full-access", Login: "not-run", Inference: "gateway", MCPStatus: "ready",
		MCPPreflight: []client.ServerStatus{{Label: "my-notes", Status: "ready", ToolCount: 2}},
	}
	if d := cmp.Diff(want, r, cmpopts.IgnoreFields(client.ServerStatus{}, "ElapsedMs")); d != "" {
		t.Errorf("readiness (-want +got):\n%s", d)
	}
}

// checkEvents compares but for ids, times and what only the model wrote.
func checkEvents(t *testing.T, want, got []trace.Event) {
	t.Helper()
	got = append([]trace.Event(nil), got...)
	for i := range got {
		if got[i].Source == trace.SourceBuiltin {
			got[i].Output = nil
		}
		got[i].Arguments = nil
	}
	ignored := cmpopts.IgnoreFields(trace.Event{}, "ID", "DurationMs", "StartedAt", "CompletedAt")
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty(), ignored); d != "" {
		t.Errorf("events (-want +got):\n%s", d)
	}
}

// checkEvidence makes sure that the record that was kept is the trial's, and is described rightly.
func checkEvidence(t *testing.T, r *rig, res client.Result, prompt string) {
	t.Helper()
	a, ok := res.Metadata["evidence"].(*evidence.Artifact)
	if !ok {
		t.Fatalf("no evidence: %v", res.Metadata)
	}
	b, err := os.ReadFile(filepath.Join(r.evidence, a.Path))
	must(t, err)
	if turn.SHA256(string(b)) != a.SHA256 || int64(len(b)) != a.Bytes || !strings.Contains(string(b), res.SessionID) {
		t.Errorf("evidence %+v doesn't describe its file", a)
	}
	if c := res.Metadata["correlation"].(map[string]any); c["promptSha256"] != turn.SHA256(prompt) || c["promptUnchanged"] != true {
		t.Errorf("correlation %v", c)
	}
	for _, step := range []string{StepHome, StepConfig, StepSpawn, StepInitialize, StepThread, StepServers, StepTurn, StepCodexTurn, StepStop, StepRollout, StepTeardown} {
		if _, ok := res.Steps[step]; !ok {
			t.Errorf("step %s has no time", step)
		}
	}
	t.Logf("%q: %d ms: %v", prompt, res.DurationMs, res.Steps)
}

func TestInfo(t *testing.T) {
	info, err := New(Setup{Path: codexPath(t)}).Info(context.Background())
	if err != nil || info.Name != Name || !strings.HasPrefix(info.Version, "0.") {
		t.Errorf("info %+v, error %v", info, err)
	}
}
