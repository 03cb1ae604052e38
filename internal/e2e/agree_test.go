package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/berth-run/berth/internal/e2e/rig"
	"github.com/berth-run/berth/internal/gateway"
	"github.com/berth-run/berth/internal/results"
)

// answers is a script with a rule for each kind of turn. Every step has token counts of its own, so
// that a count that's lost, or taken twice, or another turn's, shows. %s is one rule's last word.
const answers = `{"models": ["gpt-5.5", "gpt-6-luna"], "rules": [
  {"name": "text", "match": {"contains": "say"}, "steps": [
    {"text": "said %s", "usage": {"input": 1003, "cached": 101, "output": 17, "reasoning": 5}}]},
  {"name": "tools", "match": {"contains": "look"}, "steps": [
    {"mcp": {"server": "notes", "tool": "search", "arguments": {"query": "full disk"}}, "usage": {"input": 2011, "cached": 211, "output": 29, "reasoning": 2}},
    {"mcp": {"server": "notes", "tool": "get", "arguments": {"id": "RB-17"}}, "usage": {"input": 4021, "cached": 3001, "output": 31}},
    {"text": "found it", "usage": {"input": 8039, "cached": 7001, "output": 37, "reasoning": 11}}]},
  {"name": "command", "match": {"contains": "run"}, "steps": [
    {"command": {"cmd": "echo $((6*7))"}, "usage": {"input": 501, "cached": 0, "output": 13}},
    {"text": "It is {{output}}.", "usage": {"input": 701, "cached": 307, "output": 19, "reasoning": 1}}]}]}`

// requests is how many each case's turn takes by that script.
var (
	requests = map[string]int{"text": 1, "tools": 3, "command": 2}
	prompts  = map[string]string{"text": "say it", "tools": "look it up", "command": "run it"}
)

func agreeProject(t *testing.T) *rig.Project {
	p := rig.NewProject(t, []rig.Object{
		{"id": "text", "input": prompts["text"], "assertions": rig.Object{"containsText": "said yes"}},
		{"id": "tools", "input": prompts["tools"], "assertions": rig.Object{"containsText": "found it", "toolsTriggered": rig.Object{"calls": []rig.Object{{"name": "get"}}}}},
		{"id": "command", "input": prompts["command"], "assertions": rig.Object{"containsText": "42"}},
	}, func(eval rig.Object) {
		eval["servers"] = rig.Object{"notes": rig.Object{"transport": "stdio", "command": "/opt/berth-sample/notes", "inheritEnv": false}}
		eval["variants"] = []rig.Object{{"name": "classic", "model": rig.Classic}, {"name": "code", "model": rig.CodeMode}}
		eval["trials"] = 2
	})
	p.Options = append(p.Options, "shards=2")
	return p
}

// TestAgreement: what the gateway was asked, what Codex wrote of it and what the results say are the
// same, trial by trial.
func TestAgreement(t *testing.T) {
	p := agreeProject(t)
	log := p.Path("gateway.jsonl")
	r := p.Rehearse(fmt.Sprintf(answers, "yes"), "--gateway-log", log)
	r.Expect(t, 0)
	asked := bySession(t, log)
	wrote := rollouts(t, filepath.Join(r.Dir, "artifacts"))
	trials := r.AllTrials(t)
	if len(trials) != 12 {
		t.Fatalf("%d trials", len(trials))
	}
	turns := map[string]bool{}
	sessions := map[string]bool{}
	for k, trial := range trials {
		got := told(t, trial)
		sessions[got.Session], turns[got.Turn] = true, true
		gate, codex := asked[got.Session], wrote[got.Session]
		if d := cmp.Diff(gate, codex); d != "" {
			t.Errorf("%v: the gateway and the rollout differ (-gateway +rollout):\n%s", k, d)
		}
		if d := cmp.Diff(codex, got, cmpopts.IgnoreFields(account{}, "Requests", "Prompt")); d != "" {
			t.Errorf("%v: the rollout and the results differ (-rollout +results):\n%s", k, d)
		}
		if n := len(gate.Requests); n != requests[k.CaseID] {
			t.Errorf("%v: %d requests, the script has %d", k, n, requests[k.CaseID])
		}
		if want := prompts[k.CaseID]; gate.Prompt != want {
			t.Errorf("%v: the gateway was asked %q, want %q", k, gate.Prompt, want)
		}
	}
	for what, n := range map[string]int{
		"sessions in the results": len(sessions), "turns in the results": len(turns),
		"sessions at the gateway": len(asked), "rollouts": len(wrote),
	} {
		if n != len(trials) {
			t.Errorf("%d %s for %d trials", n, what, len(trials))
		}
	}
}

// account is one trial's as somebody has it.
type account struct {
	Session, Turn, Prompt, Final string
	Requests                     []string // ids of the answers, in order
	Input, Cached                int64    // Input includes Cached
	Output, Reasoning            int64
}

func (a *account) add(id string, u gateway.Usage) {
	a.Requests = append(a.Requests, id)
	a.Input += u.Input
	a.Cached += u.Cached
	a.Output += u.Output
	a.Reasoning += u.Reasoning
}

// bySession reads the gateway's log. Everything in it is an answered request of one turn of a session.
func bySession(t *testing.T, log string) map[string]account {
	t.Helper()
	var entries []gateway.Entry
	eachLine(t, log, func(line []byte) {
		var e gateway.Entry
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		if e.Status != http.StatusOK || !e.Accepted {
			t.Errorf("the gateway answered %s", line)
		}
		if strings.HasSuffix(e.Path, "/responses") {
			entries = append(entries, e)
		}
	})
	slices.SortFunc(entries, func(a, b gateway.Entry) int { return int(a.Seq - b.Seq) })
	all := map[string]account{}
	for _, e := range entries {
		a, ok := all[e.SessionID]
		if !ok {
			a = account{Session: e.SessionID, Turn: e.TurnID, Prompt: e.Prompt}
		}
		if e.TurnID != a.Turn || e.Prompt != a.Prompt {
			t.Errorf("session %s has turns %s %q and %s %q", e.SessionID, a.Turn, a.Prompt, e.TurnID, e.Prompt)
		}
		a.add(e.ResponseID, *e.Usage)
		a.Final = e.Text
		all[e.SessionID] = a
	}
	return all
}

// rollouts reads Codex's own records among the artifacts, as plain JSON.
func rollouts(t *testing.T, artifacts string) map[string]account {
	t.Helper()
	paths, err := filepath.Glob(artifacts + "/*/*/*/matched-rollout-*.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]account{}
	for _, path := range paths {
		a := rolloutAccount(t, path)
		if _, twice := all[a.Session]; twice {
			t.Errorf("session %s has two rollouts", a.Session)
		}
		all[a.Session] = a
	}
	return all
}

func rolloutAccount(t *testing.T, path string) account {
	t.Helper()
	var a account
	turns := map[string]bool{}
	eachLine(t, path, func(line []byte) {
		var r struct {
			Type    string
			Payload struct {
				Type             string
				SessionID        string `json:"session_id"`
				TurnID           string `json:"turn_id"`
				ResponseID       string `json:"response_id"`
				LastAgentMessage string `json:"last_agent_message"`
				Item             struct {
					Type    string
					Content []struct{ Text string }
				}
				Usage struct {
					Input     int64 `json:"input_tokens"`
					Cached    int64 `json:"cached_input_tokens"`
					Output    int64 `json:"output_tokens"`
					Reasoning int64 `json:"reasoning_output_tokens"`
				}
			}
		}
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		p := r.Payload
		switch {
		case r.Type == "session_meta":
			a.Session = p.SessionID
		case r.Type == "token_usage_record":
			a.add(p.ResponseID, gateway.Usage(p.Usage))
			turns[p.TurnID] = true
		case p.Type == "task_complete":
			a.Turn, a.Final = p.TurnID, p.LastAgentMessage
			turns[p.TurnID] = true
		case p.Item.Type == "UserMessage":
			a.Prompt = p.Item.Content[0].Text
		}
	})
	if len(turns) != 1 {
		t.Errorf("%s has turns %v", path, slices.Collect(maps.Keys(turns)))
	}
	return a
}

// told is the trial as the results have it, which is without single requests and the prompt.
func told(t *testing.T, trial *results.Trial) account {
	t.Helper()
	session, ok := trial.ClientMetadata["session"].(map[string]any)
	if !ok {
		t.Fatalf("%v has no session: %v", trial.Key(), trial.ClientMetadata)
	}
	u := trial.ClientUsage
	return account{
		Session: fmt.Sprint(session["id"]), Turn: fmt.Sprint(session["turnId"]), Final: trial.Trace.FinalText,
		Input: u.InputTokens + u.CacheReadInputTokens, Cached: u.CacheReadInputTokens, Output: u.OutputTokens, Reasoning: u.ReasoningOutputTokens,
	}
}

// TestOneAnswer changes the script's answer to one case, and with it that case's score and no other.
func TestOneAnswer(t *testing.T) {
	p := agreeProject(t)
	right := p.Rehearse(fmt.Sprintf(answers, "yes"))
	right.Expect(t, 0)
	wrong := p.Rehearse(fmt.Sprintf(answers, "no"))
	wrong.Expect(t, 1)
	before, after := scores(t, right.Dir), scores(t, wrong.Dir)
	if len(before) != len(after) || len(before) == 0 {
		t.Fatalf("%d scores before, %d after", len(before), len(after))
	}
	changed := map[string]int{}
	for name, was := range before {
		if !was.Pass {
			t.Errorf("%s failed before: %s", name, was.Message)
		}
		if d := cmp.Diff(was, after[name]); d != "" {
			changed[strings.Split(name, "/")[1]]++
			if after[name].Pass {
				t.Errorf("%s passed after: %s", name, d)
			}
		}
	}
	if want := map[string]int{"text": 4}; !maps.Equal(changed, want) { // two variants, two trials each
		t.Errorf("changed scores by case: %v, want %v", changed, want)
	}
	failed := func(o map[string]string) []string {
		var f []string
		for name, outcome := range o {
			if outcome != "passed" {
				f = append(f, name)
			}
		}
		slices.Sort(f)
		return f
	}
	if got := failed(right.Outcomes(t)); len(got) > 0 {
		t.Errorf("failed before: %v", got)
	}
	if got, want := failed(wrong.Outcomes(t)), []string{"classic/text", "code/text"}; !slices.Equal(got, want) {
		t.Errorf("failed after: %v, want %v", got, want)
	}
}

// scores are a run's by VARIANT/CASE/TRIAL/GRADER.
func scores(t *testing.T, dir string) map[string]results.ScoreBody {
	t.Helper()
	all := map[string]results.ScoreBody{}
	err := filepath.WalkDir(filepath.Join(dir, "scores"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var s results.Score
		if err := json.Unmarshal(body, &s); err != nil {
			return err
		}
		all[fmt.Sprintf("%s/%s/%d/%s", s.Variant, s.CaseID, s.Trial, s.Grader)] = s.Score
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func eachLine(t *testing.T, path string, f func(line []byte)) {
	t.Helper()
	body, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(bytes.NewReader(body))
	lines.Buffer(nil, len(body)+1)
	for lines.Scan() {
		f(lines.Bytes())
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}
