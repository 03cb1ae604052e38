package e2e

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
	classic  = "gpt-5.5"
	codeMode = "gpt-6-luna"
)

// echo answers every prompt by repeating it.
const echo = `{"models": ["gpt-5.5", "gpt-6-luna"], "rules": [{"steps": [{"text": "{{prompt}}"}]}]}`

// object is a piece of JSON to write.
type object map[string]any

// project is a folder with an eval in it, and everything that its runs leave.
type project struct {
	t *testing.T
	tools
	dir string
	// env is added to the environment of each command; options are runner options of each run.
	env     []string
	options []string
	// mark is in the environment of every process that a command of this project starts, by which
	// those that are left are found.
	mark string
	// change is made to each command before it starts; nil for none.
	change func(*exec.Cmd)
}

// newProject writes an eval of one variant whose cases answer their own input; change can make
// another one of it.
func newProject(t *testing.T, cases []object, change ...func(eval object)) *project {
	t.Helper()
	return use(t).project(t, cases, change...)
}

// project is newProject for a test that has the tools already.
func (tools tools) project(t *testing.T, cases []object, change ...func(eval object)) *project {
	t.Helper()
	p := &project{t: t, tools: tools, dir: t.TempDir(), mark: "BERTH_E2E_MARK=" + rand.Text()}
	p.options = []string{"image=" + image}
	if !p.limits {
		p.options = append(p.options, "limits=best-effort")
	}
	eval := object{
		"name": "e2e", "datasets": []string{"./cases.json"}, "client": "berth/client/codex", "model": classic,
		"redactStoredResponses": false,
	}
	for _, f := range change {
		f(eval)
	}
	p.writeJSON("eval.json", eval)
	p.writeJSON("cases.json", object{"name": "cases", "cases": cases})
	if err := os.Mkdir(p.path("tmp"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.checkSchemas() }) // of every run, however it ended
	return p
}

// says is a case whose input the model is to repeat.
func says(id string) object {
	return object{"id": id, "input": "say " + id, "assertions": object{"containsText": "say " + id}}
}

// sayCases are cases by their ids.
func sayCases(ids ...string) []object {
	cases := make([]object, len(ids))
	for i, id := range ids {
		cases[i] = says(id)
	}
	return cases
}

// idsOn gives n case ids that go to a shard, in the order in which they run.
func idsOn(shard, shards, n int) []string {
	var ids []string
	for i := 0; len(ids) < n; i++ {
		if id := fmt.Sprintf("case-%03d", i); plan.ShardOf(id, shards) == shard {
			ids = append(ids, id)
		}
	}
	return ids
}

func (p *project) path(name string) string { return filepath.Join(p.dir, name) }

// write puts a file into the project and gives its path.
func (p *project) write(name, content string) string {
	p.t.Helper()
	if err := os.WriteFile(p.path(name), []byte(content), 0o600); err != nil {
		p.t.Fatal(err)
	}
	return p.path(name)
}

func (p *project) writeJSON(name string, v any) string {
	p.t.Helper()
	body, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		p.t.Fatal(err)
	}
	return p.write(name, string(body))
}

// runArgs is the command line of a run, with args at its end.
func (p *project) runArgs(args ...string) []string {
	all := []string{"run", "--config", p.path("eval.json"), "--output-dir", p.path("out")}
	for _, o := range p.options {
		all = append(all, "--runner-option", o)
	}
	return append(all, args...)
}

// run runs the eval to its end.
func (p *project) run(args ...string) result {
	p.t.Helper()
	return p.start(args...).wait()
}

// rehearse runs the eval to its end with a script.
func (p *project) rehearse(script string, args ...string) result {
	p.t.Helper()
	return p.run(append([]string{"--script", p.write("script.json", script)}, args...)...)
}

// runs are the folders of the project's runs, oldest first.
func (p *project) runs() []string {
	p.t.Helper()
	dirs, err := filepath.Glob(p.path("out/runs/*"))
	if err != nil {
		p.t.Fatal(err)
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
