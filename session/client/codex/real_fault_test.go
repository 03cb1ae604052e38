package codex

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/mcp/mcptest"
	"github.com/berth-run/berth/session/client"
)

const faultScript = `{
  "models": ["gpt-5.5"],
  "rules": [
    {"name": "hang", "match": {"exact": "hang"}, "faults": [{"stall": "before"}], "steps": [{"text": "never"}]},
    {"name": "too many", "match": {"exact": "429"}, "faults": [{"status": 429}], "steps": [{"text": "never"}]},
    {"name": "cut", "match": {"exact": "cut"}, "faults": [{"cut": true}], "steps": [{"text": "never"}]},
    {"name": "left", "match": {"exact": "leave"}, "steps": [
      {"command": {"cmd": "setsid sleep 1000 >/dev/null 2>&1 & (setsid sleep 1000 &) >/dev/null 2>&1; chmod 000 .; echo left"}},
      {"text": "{{output}}"}]},
    {"name": "spill", "match": {"exact": "spill"}, "steps": [
      {"command": {"cmd": "cat TOKEN"}},
      {"text": "{{output}}"}]},
    {"name": "env", "match": {"exact": "env"}, "steps": [
      {"command": {"cmd": "env; echo; pwd; ls -A"}},
      {"text": "{{output}}"}]},
    {"name": "print", "match": {"exact": "print"}, "steps": [{"command": {"cmd": "env"}}, {"text": "{{output}}"}]},
    {"name": "mcp", "match": {"exact": "add"}, "steps": [
      {"mcp": {"server": "wiki", "tool": "add", "arguments": {"a": 40, "b": 2}}},
      {"text": "{{output}}"}]}
  ]
}`

// appPID waits for the trial's app server.
func appPID(t *testing.T, r *rig) int {
	t.Helper()
	for ctx := unhurried(t); ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
		for _, p := range processesWith(t, filepath.Join(r.dir, "batch-")) {
			dir, rest, _ := strings.Cut(p, " ")
			if strings.Contains(rest, "app-server") && r.sawPrompt() {
				pid, err := strconv.Atoi(filepath.Base(dir))
				must(t, err)
				return pid
			}
		}
	}
	t.Fatal("no app server")
	return 0
}

// sawPrompt tells whether some record holds a user's prompt.
func (r *rig) sawPrompt() bool {
	paths, _ := filepath.Glob(filepath.Join(r.dir, "batch-*/trial-*/home/.codex/sessions/*/*/*/rollout-*.jsonl"))
	for _, p := range paths {
		if b, err := os.ReadFile(p); err == nil && strings.Contains(string(b), `"UserMessage"`) {
			return true
		}
	}
	return false
}

// TestKilled kills Codex in the middle of a turn, with an MCP server running.
func TestKilled(t *testing.T) {
	r := newRig(t, "gpt-5.5", faultScript)
	r.batch.Servers = []client.Server{notes(t, "notes")}
	s := r.open()
	done := make(chan client.Result, 1)
	go func() { done <- s.Run(unhurried(t), client.Trial{CaseID: "killed", Prompt: "hang"}) }()
	app := appPID(t, r)
	if n := len(processesWith(t, r.dir)); n < 2 {
		t.Errorf("%d processes of the trial, want Codex and its MCP server", n)
	}
	must(t, syscall.Kill(app, syscall.SIGKILL))
	res := <-done
	if res.FailureCode != code.ClientRunFailed || !res.Submitted || res.Infrastructure || !strings.Contains(res.Error, "signal: killed") {
		t.Errorf("%s: %s (infrastructure %v)", res.FailureCode, res.Error, res.Infrastructure)
	}
	if res.SessionID == "" || res.Trace == nil || res.Metadata["evidence"] == nil {
		t.Errorf("the record was not kept: %+v", res)
	}
	next := s.Run(unhurried(t), client.Trial{CaseID: "next", Prompt: "env"})
	if next.FailureCode != "" {
		t.Errorf("the next trial: %s: %s", next.FailureCode, next.Error)
	}
}

func TestCancelled(t *testing.T) {
	r := newRig(t, "gpt-5.5", faultScript)
	s := r.open()
	ctx, cancel := context.WithCancelCause(unhurried(t))
	done := make(chan client.Result, 1)
	go func() { done <- s.Run(ctx, client.Trial{CaseID: "cancelled", Prompt: "hang"}) }()
	appPID(t, r)
	cancel(errors.New("the user's wish"))
	if res := <-done; res.FailureCode != code.Cancelled || res.Error != "the user's wish" || !res.Infrastructure || !res.Submitted {
		t.Errorf("%s: %s", res.FailureCode, res.Error)
	}
}

func TestGatewayFaults(t *testing.T) {
	tests := []struct {
		prompt string
		kind   code.Code
		infra  bool
		text   string
	}{
		{"429", code.ClientRunFailed, true, "HTTP 429"},
		{"cut", code.ClientRunFailed, true, "inference failed"},
		{"hang", code.Timeout, false, "has not grown for 2s"},
	}
	r := newRig(t, "gpt-5.5", faultScript)
	s := r.open()
	for _, tt := range tests {
		r.client.opts.Limits.Stall = time.Minute // Codex tries again for some 8 s
		if tt.prompt == "hang" {
			r.client.opts.Limits.Stall = 2 * time.Second
		}
		res := s.Run(unhurried(t), client.Trial{CaseID: tt.prompt, Prompt: tt.prompt})
		if res.FailureCode != tt.kind || res.Infrastructure != tt.infra || !strings.Contains(res.Error, tt.text) {
			t.Errorf("%s: %s: %s (infrastructure %v)", tt.prompt, res.FailureCode, res.Error, res.Infrastructure)
		}
		if res.Trace == nil || res.Trace.Error != res.Error {
			t.Errorf("%s: trace %+v", tt.prompt, res.Trace)
		}
	}
}

// TestLeftBehind: an agent that leaves processes in sessions of their own and locks its workspace.
func TestLeftBehind(t *testing.T) {
	r := newRig(t, "gpt-5.5", faultScript)
	s := r.open()
	res := s.Run(unhurried(t), client.Trial{CaseID: "left", Prompt: "leave"})
	if res.FailureCode != "" || !strings.Contains(res.Trace.FinalText, "left") {
		t.Fatalf("%s: %s", res.FailureCode, res.Error)
	}
	trials, err := filepath.Glob(filepath.Join(r.dir, "*", "*"))
	must(t, err)
	if left := processesWith(t, r.dir); len(left) != 0 || len(trials) != 0 {
		t.Errorf("left after the trial: %v, %v", left, trials)
	}
}

// TestEnvironment: what an agent finds is the trial's own, and nothing of the worker's.
func TestEnvironment(t *testing.T) {
	t.Setenv("BERTH_TEST_INHERITED", "yes")
	r := newRig(t, "gpt-5.5", faultScript)
	r.batch.Options = json.RawMessage(`{"env":{"FROM_CONFIG":"yes"}}`)
	s := r.open()
	var homes []string
	for range 2 {
		res := s.Run(unhurried(t), client.Trial{CaseID: "env", Prompt: "env"})
		if res.FailureCode != "" {
			t.Fatalf("%s: %s", res.FailureCode, res.Error)
		}
		env, after, _ := strings.Cut(res.Trace.FinalText, "\n\n")
		if strings.Contains(env, "BERTH_TEST_INHERITED") || !strings.Contains(env, "FROM_CONFIG=yes") {
			t.Errorf("environment:\n%s", env)
		}
		lines := strings.Split(strings.TrimSpace(after), "\n")
		if len(lines) != 1 || filepath.Base(lines[0]) != "workspace" {
			t.Errorf("workspace, and what is in it: %q", lines)
		}
		homes = append(homes, lines[0])
	}
	if homes[0] == homes[1] {
		t.Errorf("two trials in %s", homes[0])
	}
}

// TestSpilledToken: an agent that prints the inference token gets it into no result and no evidence.
func TestSpilledToken(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "t")
	r := newRig(t, "gpt-5.5", strings.ReplaceAll(faultScript, "TOKEN", link))
	must(t, os.Symlink(string(r.token), link))
	s := r.open()
	res := s.Run(unhurried(t), client.Trial{CaseID: "spill", Prompt: "spill"})
	token, err := r.token.Current()
	must(t, err)
	text, err := json.Marshal(res)
	must(t, err)
	if res.FailureCode != "" || !strings.Contains(res.Trace.FinalText, "[redacted]") || strings.Contains(string(text), token) {
		t.Errorf("result %s", text)
	}
	kept, err := filepath.Glob(filepath.Join(r.evidence, "*", "*"))
	must(t, err)
	for _, path := range kept {
		b, err := os.ReadFile(path)
		must(t, err)
		if strings.Contains(string(b), token) || !strings.Contains(string(b), "[redacted]") {
			t.Errorf("%s isn't redacted", path)
		}
	}
}

// TestHTTPServer: the bearer goes to Codex in its environment, and to the server.
func TestHTTPServer(t *testing.T) {
	const bearer = "bearer-0123456789"
	var calls atomic.Int64
	server := mcptest.NewServer(2)
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Header.Get("Authorization") != "Bearer "+bearer {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		calls.Add(1)
		h.ServeHTTP(w, req)
	}))
	defer web.Close()
	r := newRig(t, "gpt-5.5", faultScript)
	r.batch.Servers = []client.Server{{Label: "wiki", Transport: "http", URL: web.URL, Token: bearer, MinTools: 2}}
	s := r.open()
	before := calls.Load()
	res := s.Run(unhurried(t), client.Trial{CaseID: "http", Prompt: "add"})
	if res.FailureCode != "" || !strings.Contains(res.Trace.FinalText, "42") || calls.Load() == before {
		t.Fatalf("%s: %s", res.FailureCode, res.Error)
	}
	if sel := res.Telemetry["mcpSelection"].(map[string]any); sel["status"] != "ok" || sel["configuredMcpCallCount"] != 1 {
		t.Errorf("selection %v", sel)
	}
	env := s.Run(unhurried(t), client.Trial{CaseID: "env", Prompt: "print"})
	if env.Trace == nil || !strings.Contains(env.Trace.FinalText, "CODEX_HOME=") || strings.Contains(env.Trace.FinalText, "MST_CHATGPT") {
		t.Errorf("a command's environment: %+v", env.Trace)
	}
	web.CloseClientConnections()
}

func TestAPIKey(t *testing.T) {
	path := codexPath(t)
	root := t.TempDir()
	key, evidence := filepath.Join(root, "key"), filepath.Join(root, "evidence")
	must(t, os.WriteFile(key, []byte("sk-test-0123456789\n"), 0o600))
	must(t, os.Mkdir(evidence, 0o700))
	c := New(Setup{Path: path, Dir: filepath.Join(root, "trials")})
	s, err := c.Open(context.Background(), client.Batch{
		Model: "gpt-5.5", EvidenceDir: evidence, Inference: client.Inference{Mode: client.ModeAPIKey, TokenFile: key},
	})
	must(t, err)
	if r := s.Readiness(); r.Login != "verified" || r.Inference != "api-key" {
		t.Errorf("readiness %+v", r)
	}
	must(t, s.Close(context.Background()))
}
