package withhold

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-run/berth/session/client"
	"github.com/berth-run/berth/session/client/rollout"
)

func rewritten(t *testing.T, name, text string) string {
	t.Helper()
	var out bytes.Buffer
	if err := Responses(name)(&out, strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

const recordName = client.RecordPrefix + "rollout-1.jsonl"

func read(t *testing.T, text string) *rollout.Rollout {
	t.Helper()
	r, err := rollout.Read(strings.NewReader(text), []string{"notes"})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// shape is what is known of a turn when nothing of what was said is.
type shape struct {
	ID, Model, Effort, Reason string
	Status                    rollout.Status
	Answered, HasPrompt       bool
	Failure                   *rollout.Failure
	Output                    int64
}

func shapes(r *rollout.Rollout) (all []shape) {
	for _, t := range r.Turns() {
		s := shape{
			ID: t.ID, Model: t.Model, Effort: t.Effort, Reason: t.AbortReason, Status: t.Status,
			Answered: t.Answered(), HasPrompt: t.HasPrompt, Failure: t.Failure,
		}
		if u := t.Trace().Usage; u != nil {
			s.Output = u.OutputTokens
		}
		all = append(all, s)
	}
	return all
}

// TestRecords: of Codex's own records there remains all that tells what happened, and nothing that was said.
func TestRecords(t *testing.T) {
	paths, err := filepath.Glob("../../session/client/rollout/testdata/*.jsonl")
	if err != nil || len(paths) < 10 {
		t.Fatalf("%v, %v", paths, err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			body, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			left := rewritten(t, recordName, string(body))
			before, after := read(t, string(body)), read(t, left)
			if d := cmp.Diff(before.Meta(), after.Meta()); d != "" {
				t.Errorf("meta (-before +after):\n%s", d)
			}
			if d := cmp.Diff(shapes(before), shapes(after)); d != "" {
				t.Errorf("turns (-before +after):\n%s", d)
			}
			for _, said := range said(t, before) {
				if strings.Contains(left, said) {
					t.Errorf("%q is in it", said)
				}
			}
			if n := strings.Count(left, "\n"); n != strings.Count(string(body), "\n") {
				t.Errorf("%d lines", n)
			}
		})
	}
}

// said are the texts of a record's turns: prompts, answers, arguments and outputs.
func said(t *testing.T, r *rollout.Rollout) (texts []string) {
	t.Helper()
	add := func(s string) {
		inner, err := json.Marshal(s) // as it's in a line
		if err != nil {
			t.Fatal(err)
		}
		if s = strings.Trim(string(inner), `"`); len(s) > 7 {
			texts = append(texts, s)
		}
	}
	for _, turn := range r.Turns() {
		add(turn.Prompt)
		add(turn.FinalText())
		for _, e := range turn.Trace().Events {
			add(string(e.Output))
			var text string
			if json.Unmarshal(e.Output, &text) == nil {
				add(text)
			}
		}
	}
	if len(texts) == 0 {
		t.Error("nothing was said in it")
	}
	return texts
}

// TestNumbersAndCuts: what a tool gave as numbers is withheld, and a line that was cut off keeps its place.
func TestNumbersAndCuts(t *testing.T) {
	left := rewritten(t, recordName, `{"timestamp":"2026-01-01T00:00:00Z","ordinal":1,"type":"event_msg","payload":{"type":"item_completed","item":{"type":"McpToolCall","tool":"add","result":{"structuredContent":{"sum":8675309}},"error":null}}}
{"timestamp":"2026-01-01T00:00:00Z","ordinal":2,"type":"event_msg","payload":{"type":"agent_message","message":"the ans
{"timestamp":"2026-01-01T00:00:00Z","ordinal":2,"type":"event_msg","payload":{"type":"agent_message","message":"the answer"}}
`)
	want := `{"ordinal":1,"payload":{"item":{"error":null,"result":{},"tool":"add","type":"McpToolCall"},"type":"item_completed"},"timestamp":"2026-01-01T00:00:00Z","type":"event_msg"}
{"timestamp":"2026-01-01T00:00:00Z","ordinal":2,[withheld]
{"ordinal":2,"payload":{"message":"[withheld: 10 characters]","type":"agent_message"},"timestamp":"2026-01-01T00:00:00Z","type":"event_msg"}
`
	if d := cmp.Diff(want, left); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestTree(t *testing.T) {
	got := rewritten(t, client.AnsweredTreeFile, `application "Chromium" [enabled]
  frame "A title by the model" [showing visible]
    heading "Introducing the answer" 10x10+0+0 [showing visible]
    button "Send" 10x10+0+0 can press [enabled showing visible]
    static "it's 42" [showing visible]
    entry "" 10x10+0+0 [editable]
something else that says 42
`)
	want := `application "[withheld: 8 characters]" [enabled]
  frame "[withheld: 20 characters]" [showing visible]
    heading "[withheld: 22 characters]" 10x10+0+0 [showing visible]
    button "Send" 10x10+0+0 can press [enabled showing visible]
    static "[withheld: 7 characters]" [showing visible]
    entry "" 10x10+0+0 [editable]
`
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	const none = "no tree: gone\n0 on the accessibility bus:\n"
	if got := rewritten(t, client.AnsweredTreeFile, none); got != none {
		t.Errorf("%q", got)
	}
}

// TestOthersStay: what holds no answers as text is stored as it is.
func TestOthersStay(t *testing.T) {
	for _, name := range []string{client.TreeFile, "steps.jsonl", "chatgpt-app.log", "turn-screenshot.png"} {
		if Responses(name) != nil {
			t.Errorf("%s is rewritten", name)
		}
	}
}
