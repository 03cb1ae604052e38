package desktop

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/berth-run/berth/internal/cause"
	"github.com/berth-run/berth/internal/e2e/rig"
	"github.com/berth-run/berth/internal/eval"
	"github.com/berth-run/berth/internal/results"
	"github.com/berth-run/berth/internal/testrig"
	"github.com/berth-run/berth/internal/withhold"
)

// failure is one way to fail, and what must be said of it.
type failure struct {
	scenario string
	options  rig.Object // of the client
	prompt   string     // after the case's input
	cause    string
	words    []string // of the sentence
}

// failures are ten, told apart by what they leave. Where the driver would wait for long, the trial's own
// time is over before.
var failures = []map[string]failure{
	{
		"skip":     {scenario: `{"screens": [{"kind": "examples", "missing": ["skip"]}]}`, cause: "control_missing", words: []string{`"Skip"`, "examples"}},
		"unknown":  {scenario: `{"screens": [{"kind": "profession"}, {"kind": "unknown", "title": "What's new"}]}`, cause: "unknown_screen", words: []string{`"What's new"`, `"Next"`}},
		"blank":    {scenario: `{"screens": [{"kind": "profession"}, {"kind": "blank"}]}`, cause: "blank_window", words: []string{"blank"}},
		"doubled":  {scenario: `{"main": {"doubled": ["send"]}}`, cause: "control_doubled", words: []string{`"Send"`}},
		"dead app": {scenario: `{"screens": [{"kind": "profession", "crash": "exit"}]}`, cause: "app_ended", words: []string{"exit status 133", "while it was brought up"}},
	},
	{
		"crash":   {scenario: `{"send": {"crash": "kill"}}`, cause: "app_ended", words: []string{"signal: killed", "after the prompt was sent"}},
		"refused": {scenario: `{"handoff": {"after": 1, "exit": 3}}`, cause: "handoff", words: []string{"exit status 3"}},
		"lost":    {scenario: `{"handoff": {"after": 1, "draft": "lost"}}`, options: within(30), cause: "draft_lost", words: []string{"stayed empty"}},
		"429":     {scenario: `{}`, prompt: " too often", cause: "model_unreachable", words: []string{"429"}},
		"stalled": {scenario: `{}`, prompt: " and wait", options: within(40), cause: "turn_stalled", words: []string{"waits for the model's answer"}},
	},
}

// within is a trial's time, in seconds, for one that would wait.
func within(seconds int) rig.Object { return rig.Object{"timeout": 1000 * seconds} }

const failing = `{"models": ["gpt-5.5"], "rules": [
	{"match": {"contains": "too often"}, "faults": [{"status": 429}], "steps": [{"text": "never"}]},
	{"match": {"contains": "and wait"}, "faults": [{"stall": "before"}], "steps": [{"text": "never"}]},
	{"steps": [{"text": "{{prompt}}"}]}
]}`

// TestEvidence: `berth evidence` names the cause of each failure, and so does its evidence alone, with
// every code taken out of it and no name that tells.
func TestEvidence(t *testing.T) {
	for i, some := range failures {
		t.Run(string(rune('a'+i)), func(t *testing.T) { evidenceOf(t, some, i == 1) })
	}
}

// evidenceOf is of failures in one run, which may be redacted: then nothing that was said is in it.
func evidenceOf(t *testing.T, some map[string]failure, redacted bool) {
	suite := testrig.Suites[0]
	private := "value-" + rand.Text()
	files := map[string]string{}
	var variants []rig.Object
	for name, f := range some {
		files[strings.ReplaceAll(name, " ", "-")+".json"] = f.scenario
		options := rig.Object{"env": rig.Object{
			"CHATGPT_STANDIN_SCENARIO": "/etc/chatgpt-standin/" + strings.ReplaceAll(name, " ", "-") + ".json", "PRIVATE": private,
		}}
		for k, v := range f.options {
			options[k] = v
		}
		variants = append(variants, rig.Object{"name": name, "clientOptions": options, "inputTemplate": "{{input}}" + f.prompt})
	}
	p := newChatGPT(t, suite, []rig.Object{{"id": "case", "input": "say nothing of it"}}, func(eval rig.Object) {
		eval["variants"], eval["redactStoredResponses"] = variants, redacted
	})
	p.UseImage(scenariosImage(t, suite, files))
	g := p.NewGate(failing)
	r := p.Run()
	token, err := g.Token.Current()
	if err != nil {
		t.Fatal(err)
	}
	all, withheld := evidenceJSON(t, p, r.Dir), 0
	for _, e := range all {
		want := some[e.Variant]
		if e.Cause.Name != want.cause || !hasAll(e.Cause.Sentence, want.words) {
			t.Errorf("%s: %s: %s\nwant %s with %q", e.Variant, e.Cause.Name, e.Cause.Sentence, want.cause, want.words)
			for _, a := range e.Files {
				body, _ := os.ReadFile(filepath.Join(r.Dir, a.Path)) // shown as far as it's there
				if !strings.HasSuffix(a.Path, ".png") {
					t.Logf("%s:\n%s", a.Path, body[max(0, len(body)-4000):])
				}
			}
		}
		if alone := cause.Read(anonymous(t, r.Dir, e.Files)).Likely(); alone.Name != e.Cause.Name || alone.Sentence != e.Cause.Sentence {
			t.Errorf("%s: judged from its evidence alone: %s: %s", e.Variant, alone.Name, alone.Sentence)
		}
		for _, a := range e.Files {
			want := results.ArtifactOK
			if redacted && withhold.Responses(filepath.Base(a.Name)) != nil {
				want = results.ArtifactChanged
				withheld++
				if body, err := os.ReadFile(filepath.Join(r.Dir, a.Path)); err != nil || bytes.Contains(body, []byte("say nothing of it")) {
					t.Errorf("%s: %s has what was said: %v", e.Variant, a.Path, err)
				}
			}
			if a.State != want {
				t.Errorf("%s: %s is %s, want %s", e.Variant, a.Name, a.State, want)
			}
		}
		delete(some, e.Variant)
	}
	for name := range some {
		t.Errorf("%s didn't fail", name)
	}
	if (withheld > 0) != redacted {
		t.Errorf("%d files had answers in them", withheld)
	}
	checkEvidence(t, filepath.Join(r.Dir, "artifacts"), token, private)
	if text := p.BerthDo("evidence", r.Dir, "case"); text.Status != 0 || strings.Count(text.Stdout, "Likely: ") != len(all) {
		t.Errorf("status %d:\n%s", text.Status, text.Stdout)
	}
	p.NothingLeft()
}

func evidenceJSON(t *testing.T, p *rig.Project, run string) (all []eval.Explained) {
	t.Helper()
	out := p.BerthDo("evidence", run, "--json")
	out.Expect(t, 0)
	if err := json.Unmarshal([]byte(out.Stdout), &all); err != nil {
		t.Fatal(err)
	}
	return all
}

func hasAll(text string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}

// anonymous are the files without the names of their folders, and without codes.
func anonymous(t *testing.T, dir string, files []results.Artifact) (fs.FS, []string) {
	t.Helper()
	fsys, paths := fstest.MapFS{}, []string{}
	for _, a := range files {
		body, err := os.ReadFile(filepath.Join(dir, a.Path))
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(a.Path)
		if strings.HasSuffix(name, ".png") {
			name = "picture.png"
		}
		if name == "steps.jsonl" {
			body = withoutCodes(t, body)
		}
		fsys[name] = &fstest.MapFile{Data: body}
		paths = append(paths, name)
	}
	return fsys, paths
}

func withoutCodes(t *testing.T, steps []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	for line := range bytes.Lines(steps) {
		var step map[string]any
		if err := json.Unmarshal(line, &step); err != nil {
			t.Fatal(err)
		}
		delete(step, "error")
		if trial, ok := step["trial"].(map[string]any); ok {
			trial["caseId"] = "x"
		}
		body, err := json.Marshal(step)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(append(body, '\n'))
	}
	return out.Bytes()
}

// checkEvidence looks for what mustn't be in any file.
func checkEvidence(t *testing.T, dir string, not ...string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		body, err := os.ReadFile(path)
		for _, text := range not {
			if bytes.Contains(body, []byte(text)) {
				t.Errorf("%s holds %q", path, text)
			}
		}
		return err
	})
	if err != nil || files == 0 {
		t.Errorf("%d files: %v", files, err)
	}
}
