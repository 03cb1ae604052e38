package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/berth-run/berth/internal/results"
	"github.com/berth-run/berth/schema"
	"github.com/berth-run/berth/schema/schematest"
)

// checkSchemas holds every JSON file of every run of the project against all sets of schemas there
// are, however the runs ended, and gives how many there were of each kind.
func (p *project) checkSchemas() map[string]int {
	p.t.Helper()
	kinds := map[string]int{}
	for name, compile := range schematest.Sets(p.t) {
		clear(kinds)
		compiled := map[string]*jsonschema.Schema{}
		p.eachJSON(func(path string, body []byte) {
			var e results.Envelope
			if err := json.Unmarshal(body, &e); err != nil {
				p.t.Errorf("%s: %v", path, err)
				return
			}
			kinds[e.Kind]++
			if compiled[e.Kind] == nil {
				compiled[e.Kind] = compile(p.t, schema.RunKind(e.Kind))
			}
			doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
			if err == nil {
				err = compiled[e.Kind].Validate(doc)
			}
			if err != nil {
				p.t.Errorf("%s doesn't fit the %s schema: %v\n%s", path, name, err, body)
			}
		})
	}
	return kinds
}

// eachJSON visits the JSON files of the project's results.
func (p *project) eachJSON(visit func(path string, body []byte)) {
	p.t.Helper()
	err := filepath.WalkDir(p.path("out"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".json" {
			return err
		}
		body, err := os.ReadFile(path)
		if err == nil {
			visit(path, body)
		}
		return err
	})
	if err != nil && !os.IsNotExist(err) { // nothing came as far as a folder
		p.t.Error(err)
	}
}

// broken is a script whose gateway fails one kind of turn.
const broken = `{"models": ["gpt-5.5", "gpt-6-luna"], "rules": [
  {"match": {"contains": "say"}, "faults": [{"status": 400, "message": "no"}], "steps": [{"text": "x"}]},
  {"steps": [{"text": "{{prompt}}"}]}]}`

// TestSchemas checks the files of runs in which everything came about that a file can tell: servers,
// commands, both models, a comparison, a failed case, a case that infrastructure lost, a selection.
func TestSchemas(t *testing.T) {
	p := agreeProject(t)
	p.rehearse(fmt.Sprintf(answers, "yes")).expect(t, 0)
	p.rehearse(fmt.Sprintf(answers, "no")).expect(t, 1)
	p.rehearse(broken, "--case", "text", "--case", "command").expect(t, 1)
	kinds := p.checkSchemas()
	want := []string{
		results.KindLatest, results.KindResults, results.KindRun, results.KindScore, results.KindSummary, results.KindTrial,
	}
	if got := slices.Sorted(maps.Keys(kinds)); !slices.Equal(got, want) {
		t.Errorf("kinds %v, want %v", got, want)
	}
}
