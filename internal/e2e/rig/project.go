package rig

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/berth-run/berth/internal/plan"
	"github.com/berth-run/berth/internal/results"
)

// Models that Codex knows: one that calls tools as functions, one that writes JavaScript.
const (
	Classic  = "gpt-5.5"
	CodeMode = "gpt-6-luna"
)

// Echo answers every prompt by repeating it.
const Echo = `{"models": ["gpt-5.5", "gpt-6-luna"], "rules": [{"steps": [{"text": "{{prompt}}"}]}]}`

// Object is a piece of JSON to write.
type Object map[string]any

// Project is a folder with an eval in it, and everything that its runs leave.
type Project struct {
	T *testing.T
	Tools
	dir string
	// Config is the eval that is run; the project's own, if it isn't set anew.
	Config string
	// Out is the folder for results, in the project unless it's set anew.
	Out string
	// Env is added to the environment of each command; options are runner options of each run.
	Env     []string
	Options []string
	// mark is in the environment of every process that a command of this project starts, by which
	// those that are left are found.
	mark string
	// Change is made to each command before it starts; nil for none.
	Change func(*exec.Cmd)
}

// NewProject writes an eval of one variant whose cases answer their own input; change can make
// another one of it.
func NewProject(t *testing.T, cases []Object, change ...func(eval Object)) *Project {
	t.Helper()
	return use(t).Project(t, cases, change...)
}

// Project is newProject for a test that has the tools already.
func (tools Tools) Project(t *testing.T, cases []Object, change ...func(eval Object)) *Project {
	t.Helper()
	p := &Project{T: t, Tools: tools, dir: t.TempDir(), mark: "BERTH_E2E_MARK=" + rand.Text()}
	p.Options = []string{"image=" + Image}
	if !p.Limits {
		p.Options = append(p.Options, "limits=best-effort")
	}
	eval := Object{
		"name": "e2e", "datasets": []string{"./cases.json"}, "client": "berth/client/codex", "model": Classic,
		"redactStoredResponses": false,
	}
	for _, f := range change {
		f(eval)
	}
	p.Out = p.Path("out")
	p.Config = p.writeJSON("eval.json", eval)
	p.writeJSON("cases.json", Object{"name": "cases", "cases": cases})
	if err := os.Mkdir(p.Path("tmp"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.CheckSchemas() }) // of every run, however it ended
	return p
}

// Says is a case whose input the model is to repeat.
func Says(id string) Object {
	return Object{"id": id, "input": "say " + id, "assertions": Object{"containsText": "say " + id}}
}

// SayCases are cases by their ids.
func SayCases(ids ...string) []Object {
	cases := make([]Object, len(ids))
	for i, id := range ids {
		cases[i] = Says(id)
	}
	return cases
}

// IdsOn gives n case ids that go to a shard, in the order in which they run.
func IdsOn(shard, shards, n int) []string {
	var ids []string
	for i := 0; len(ids) < n; i++ {
		if id := fmt.Sprintf("case-%03d", i); plan.ShardOf(id, shards) == shard {
			ids = append(ids, id)
		}
	}
	return ids
}

// Path is of a file in the project.
func (p *Project) Path(name string) string { return filepath.Join(p.dir, name) }

// Write puts a file into the project and gives its path.
func (p *Project) Write(name, content string) string {
	p.T.Helper()
	if err := os.WriteFile(p.Path(name), []byte(content), 0o600); err != nil {
		p.T.Fatal(err)
	}
	return p.Path(name)
}

func (p *Project) writeJSON(name string, v any) string {
	p.T.Helper()
	body, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		p.T.Fatal(err)
	}
	return p.Write(name, string(body))
}

// runArgs is the command line of a run, with args at its end.
func (p *Project) runArgs(args ...string) []string {
	all := []string{"run", "--runner", p.Engine.Runner(), "--config", p.Config, "--output-dir", p.Out}
	for _, o := range p.Options {
		all = append(all, "--runner-option", o)
	}
	return append(all, args...)
}

// Run runs the eval to its end.
func (p *Project) Run(args ...string) Result {
	p.T.Helper()
	return p.Start(args...).Wait()
}

// Rehearse runs the eval to its end with a script.
func (p *Project) Rehearse(script string, args ...string) Result {
	p.T.Helper()
	return p.Run(append([]string{"--script", p.Write("script.json", script)}, args...)...)
}

// Runs are the folders of the project's runs, oldest first.
func (p *Project) Runs() []string {
	p.T.Helper()
	dirs, err := filepath.Glob(filepath.Join(p.Out, "runs/*"))
	if err != nil {
		p.T.Fatal(err)
	}
	return dirs
}

// record is a run's record, read from its folder.
func record(t *testing.T, dir string) results.Record {
	t.Helper()
	r, err := results.Open("", dir)
	if err != nil {
		t.Fatal(err)
	}
	return r.Record()
}

// UseImage has the project's runs use another image.
func (p *Project) UseImage(ref string) { p.Options[0] = "image=" + ref }
