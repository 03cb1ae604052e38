package rollout

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/berth-run/berth/internal/trace"
)

func recorded(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func parse(t testing.TB, b []byte) *parser {
	t.Helper()
	p := newParser([]string{"notes"})
	if err := p.feed(b); err != nil {
		t.Fatal(err)
	}
	return &p
}

func ms(n int64) *int64 { return &n }

var (
	oneCall  = &trace.Usage{InputTokens: 100, CacheReadInputTokens: 20, OutputTokens: 7, ReasoningOutputTokens: 3}
	twoCalls = &trace.Usage{InputTokens: 200, CacheReadInputTokens: 40, OutputTokens: 14, ReasoningOutputTokens: 6}
	added    = json.RawMessage(`{"content":[{"type":"text","text":"{\"sum\":5}"}],"structuredContent":{"sum":5}}`)
)

// TestRecorded holds the right reading of every recorded session.
func TestRecorded(t *testing.T) {
	tests := []struct {
		name     string
		prompt   string
		model    string
		status   Status
		answered bool
		final    string // its beginning
		usage    *trace.Usage
		events   []trace.Event // without ids, times and, for scripts, outputs
	}{
		{
			name: "answer", prompt: "Say hi.", model: "gpt-5.5", status: Completed, answered: true,
			final: "Hello, Say hi.", usage: oneCall,
		},
		{
			name: "image", prompt: "What is in the picture?", model: "gpt-5.5", status: Completed, answered: true,
			final: "A dot.", usage: oneCall,
		},
		{
			name: "answer-code-mode", prompt: "Say hi.", model: "gpt-6-luna", status: Completed, answered: true,
			final: "Hello, Say hi.", usage: oneCall,
		},
		{
			name: "mcp-classic", prompt: "Add 2 and 3 with mcp.", model: "gpt-5.5", status: Completed, answered: true,
			final: "The answer is: ", usage: twoCalls,
			events: []trace.Event{{
				Kind: "tool_call", Source: "mcp", Server: "notes", Name: "add", RawName: "mcp__notes__add",
				Arguments: json.RawMessage(`{"a": 2, "b": 3}`), Output: added, DurationMs: ms(1),
			}},
		},
		{
			name: "mcp-code-mode", prompt: "Add 2 and 3 with mcp.", model: "gpt-6-luna", status: Completed, answered: true,
			final: "The answer is: ", usage: twoCalls,
			events: []trace.Event{
				{
					Kind: "tool_call", Source: "builtin", Name: "exec", RawName: "functions.exec",
				},
				{
					Kind: "tool_call", Source: "mcp", Server: "notes", Name: "add", RawName: "mcp__notes__add",
					Arguments: json.RawMessage(`{"a":2,"b":3}`), Output: added, DurationMs: ms(1),
				},
			},
		},
		{
			name: "mcp-code-mode-unused", prompt: "Say no, mcpdead.", model: "gpt-6-luna", status: Completed, answered: true,
			final: "The answer is: ", usage: twoCalls,
			events: []trace.Event{{
				Kind: "tool_call", Source: "builtin", Name: "exec", RawName: "functions.exec",
			}},
		},
		{
			name: "mcp-failed", prompt: "Add x with mcpbad.", model: "gpt-5.5", status: Completed, answered: true,
			final: "The answer is: ", usage: twoCalls,
			events: []trace.Event{{
				Kind: "tool_call", Source: "mcp", Server: "notes", Name: "add", RawName: "mcp__notes__add",
				Arguments: json.RawMessage(`{"a": "x"}`), IsError: true,
			}},
		},
		{
			name: "command-classic", prompt: "Please run a command.", model: "gpt-5.5", status: Completed, answered: true,
			final: "The answer is: ", usage: twoCalls,
			events: []trace.Event{{
				Kind: "command", Source: "builtin", Name: "exec_command",
				Arguments: json.RawMessage(`{"cmd": "echo hello-from-shell; id -u"}`),
				Output:    json.RawMessage(`"hello-from-shell\n1003\n"`),
			}},
		},
		{
			name: "command-code-mode", prompt: "Please run a command.", model: "gpt-6-luna", status: Completed, answered: true,
			final: "The answer is: ", usage: twoCalls,
			events: []trace.Event{
				{Kind: "tool_call", Source: "builtin", Name: "exec", RawName: "functions.exec"},
				{
					Kind: "command", Source: "builtin", Name: "exec_command",
					Arguments: json.RawMessage(`{"command":["/bin/bash","-lc","echo hello-from-shell; id -u"]}`),
					Output:    json.RawMessage(`"hello-from-shell\n1003\n"`),
				},
			},
		},
		{name: "aborted", prompt: "Please hang.", model: "gpt-5.5", status: Aborted},
		{name: "gateway-429", prompt: "Fail with e429.", model: "gpt-5.5", status: Completed},
		{
			name: "no-answer", prompt: "Answer empty.", model: "gpt-5.5", status: Completed,
			usage: &trace.Usage{InputTokens: 1, OutputTokens: 1},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := parse(t, recorded(t, tt.name))
			if p.meta.Originator != "berth_codex" || p.meta.CLIVersion != "0.171.0" || p.meta.SessionID == "" || p.meta.Subagent {
				t.Errorf("meta = %+v", p.meta)
			}
			if len(p.turns) != 1 {
				t.Fatalf("%d turns, want 1", len(p.turns))
			}
			turn := p.turns[0]
			if turn.Prompt != tt.prompt || turn.Model != tt.model || turn.Effort != "medium" || turn.Status != tt.status {
				t.Errorf("prompt %q, model %q, effort %q, status %v", turn.Prompt, turn.Model, turn.Effort, turn.Status)
			}
			if turn.Answered() != tt.answered || turn.InferredCalls {
				t.Errorf("answered %v, inferred %v", turn.Answered(), turn.InferredCalls)
			}
			tr := turn.Trace()
			if !strings.HasPrefix(tr.FinalText, tt.final) || (tt.final == "") != (tr.FinalText == "") {
				t.Errorf("final text %q, want %q…", tr.FinalText, tt.final)
			}
			if d := cmp.Diff(tt.usage, tr.Usage, cmpopts.IgnoreFields(trace.Usage{}, "DurationMs")); d != "" {
				t.Errorf("usage (-want +got):\n%s", d)
			}
			for i := range tr.Events {
				checkTimes(t, tr.Events[i])
			}
			ignored := []string{"ID", "StartedAt", "CompletedAt", "DurationMs"}
			got := tr.Events
			for i, want := range tt.events {
				if i >= len(got) {
					break
				}
				if want.Output == nil {
					got[i].Output = nil
				}
				if want.Arguments == nil {
					got[i].Arguments = nil
				}
			}
			if d := cmp.Diff(tt.events, got, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(trace.Event{}, ignored...)); d != "" {
				t.Errorf("events (-want +got):\n%s", d)
			}
		})
	}
}

func checkTimes(t *testing.T, e trace.Event) {
	t.Helper()
	from, err1 := time.Parse(time.RFC3339, e.StartedAt)
	to, err2 := time.Parse(time.RFC3339, e.CompletedAt)
	if err1 != nil || err2 != nil || to.Before(from) {
		t.Errorf("%s %s: from %q to %q", e.Kind, e.Name, e.StartedAt, e.CompletedAt)
	}
}

// TestScriptKeepsNoCode: the code of a script stays in the record alone.
func TestScriptKeepsNoCode(t *testing.T) {
	b := recorded(t, "mcp-code-mode")
	const code = "const r = await tools.mcp__notes__add({a:2,b:3}); text(JSON.stringify(r));"
	if !bytes.Contains(b, []byte(code)) {
		t.Fatal("the recorded session holds another script")
	}
	tr := parse(t, b).turns[0].Trace()
	want := `{"codeLength":74,"codeSha256":"` + sha256Hex(code) + `"}`
	if got := string(tr.Events[0].Arguments); got != want {
		t.Errorf("arguments %s, want %s", got, want)
	}
}

func TestFailure(t *testing.T) {
	turn := parse(t, recorded(t, "gateway-429")).turns[0]
	want := &Failure{
		Message: "exceeded retry limit, last status: 429 Too Many Requests",
		Kind:    "response_too_many_failed_attempts", HTTPStatus: 429,
	}
	if d := cmp.Diff(want, turn.Failure); d != "" || !turn.Failure.Upstream() {
		t.Errorf("failure, upstream %v (-want +got):\n%s", turn.Failure.Upstream(), d)
	}
	if reason := parse(t, recorded(t, "aborted")).turns[0].AbortReason; reason != "interrupted" {
		t.Errorf("abort reason %q", reason)
	}
}

func TestUpstream(t *testing.T) {
	tests := []struct {
		name, payload string
		want          bool
	}{
		{"a status", `{"message":"x","codex_error_info":{"http_connection_failed":{"http_status_code":401}}}`, true},
		{"a name", `{"message":"x","codex_error_info":"internal_server_error"}`, true},
		{"a cut stream", `{"message":"stream disconnected before completion: eof","codex_error_info":"other"}`, true},
		{"the app's own", `{"message":"x","codex_error_info":"context_window_exceeded"}`, false},
		{"no class", `{"message":"x"}`, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var e errorPayload
			if err := json.Unmarshal([]byte(tt.payload), &e); err != nil {
				t.Fatal(err)
			}
			if got := e.failure().Upstream(); got != tt.want {
				t.Errorf("upstream %v, want %v", got, tt.want)
			}
		})
	}
}

func TestFinalAnswerPhase(t *testing.T) {
	b := string(recorded(t, "answer"))
	said := func(phase, text string) string {
		return `{"type":"event_msg","payload":{"type":"item_completed","item":{"type":"AgentMessage","phase":"` + phase +
			`","content":[{"text":"` + text + `"}]}}}` + "\n"
	}
	done := strings.LastIndex(strings.TrimSuffix(b, "\n"), "\n") + 1
	tests := []struct{ name, extra, want string }{
		{"commentary alone is no answer", said("commentary", "looking"), ""},
		{"the final answer counts", said("commentary", "looking") + said("final_answer", "42") + said("commentary", "bye"), "42"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			turn := parse(t, []byte(b[:done]+tt.extra+b[done:])).turns[0]
			if got := turn.FinalText(); got != tt.want || turn.Answered() != (tt.want != "") {
				t.Errorf("final text %q, answered %v, want %q", got, turn.Answered(), tt.want)
			}
		})
	}
}

// TestOlderRecords: without the harness's account, a script's calls are told by its text.
func TestOlderRecords(t *testing.T) {
	const head = `{"type":"event_msg","payload":{"type":"task_started","turn_id":"t"}}
{"type":"response_item","payload":{"type":"custom_tool_call","call_id":"c","name":"exec","input":"tools.mcp__notes__add(); tools['mcp__my_wiki__find_all'](); tools.mcp__notes__add()"}}
`
	tests := []struct {
		name, output string
		want         []string
		inferred     bool
	}{
		{"references", `{"type":"custom_tool_call_output","call_id":"c","output":"ok"}`, []string{"notes add", "my-wiki find_all"}, true},
		{"executed names", `{"type":"custom_tool_call_output","call_id":"c","executed_tool_calls":["mcp__notes__list"]}`, []string{"notes list"}, false},
		{"executed objects", `{"type":"custom_tool_call_output","call_id":"c","executed_tool_calls":[{"name":"mcp__notes__list"},{"name":"exec_command"}]}`, []string{"notes list"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newParser([]string{"notes", "my-wiki"})
			if err := p.feed([]byte(head + `{"type":"response_item","payload":` + tt.output + "}\n")); err != nil {
				t.Fatal(err)
			}
			turn := p.turns[0]
			var got []string
			for _, e := range turn.Trace().Events[1:] {
				got = append(got, e.Server+" "+e.Name)
				if e.DurationMs != nil || e.StartedAt != "" {
					t.Errorf("%s has times", e.Name)
				}
			}
			if d := cmp.Diff(tt.want, got); d != "" || turn.InferredCalls != tt.inferred {
				t.Errorf("inferred %v, calls (-want +got):\n%s", turn.InferredCalls, d)
			}
		})
	}
}

func TestTruncatedLine(t *testing.T) {
	lines := strings.SplitAfter(string(recorded(t, "answer")), "\n")
	insert := func(at int, broken string) string {
		return strings.Join(lines[:at], "") + broken + "\n" + strings.Join(lines[at:], "")
	}
	tests := []struct {
		name string
		text string
		err  error
	}{
		{"repeated", insert(8, lines[8][:200]), nil},
		{"cut before its ordinal", insert(8, lines[8][:20]), nil},
		{"never repeated", insert(8, lines[3][:200]), ErrMalformed},
		{"twice", insert(8, lines[8][:200]+"\n"+lines[8][:100]), ErrMalformed},
		{"no JSON at all", insert(0, "hello"), nil},
		{"wrong shape", insert(8, `{"ordinal":8,"type":"turn_context","payload":[]}`), ErrMalformed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newParser(nil)
			err := p.feed([]byte(tt.text))
			if !errors.Is(err, tt.err) {
				t.Fatalf("error %v, want %v", err, tt.err)
			}
			if err == nil && !p.turns[0].Answered() {
				t.Error("the turn was not read")
			}
		})
	}
}

// FuzzFeed: no input panics, and the size of the pieces makes no difference.
func FuzzFeed(f *testing.F) {
	names, err := filepath.Glob("testdata/*.jsonl")
	if err != nil || len(names) == 0 {
		f.Fatal("no recorded sessions", err)
	}
	for i, name := range names {
		f.Add(recorded(f, strings.TrimSuffix(filepath.Base(name), ".jsonl")), uint16(i*37+1))
	}
	f.Fuzz(func(t *testing.T, b []byte, size uint16) {
		whole, pieces := newParser([]string{"notes"}), newParser([]string{"notes"})
		wantErr := whole.feed(b)
		var gotErr error
		step := int(size) + 1
		for i := 0; i < len(b) && gotErr == nil; i += step {
			gotErr = pieces.feed(b[i:min(i+step, len(b))])
		}
		if (wantErr == nil) != (gotErr == nil) {
			t.Fatalf("whole: %v, in pieces: %v", wantErr, gotErr)
		}
		if d := cmp.Diff(summary(whole), summary(pieces)); d != "" {
			t.Fatalf("whole against pieces:\n%s", d)
		}
	})
}

func summary(p parser) any {
	var all []any
	for _, turn := range p.turns {
		all = append(all, turn.ID, turn.Prompt, turn.Model, turn.Status, turn.Failure, turn.Trace())
	}
	return []any{p.meta, all}
}
