package rig

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/berth-run/berth/internal/results"
	"github.com/berth-run/berth/schema"
	"github.com/berth-run/berth/schema/schematest"
)

// CheckSchemas holds every JSON file of every run of the project against all sets of schemas there
// are, however the runs ended, and gives how many there were of each kind.
func (p *Project) CheckSchemas() map[string]int {
	p.T.Helper()
	kinds := map[string]int{}
	for name, compile := range schematest.Sets(p.T) {
		clear(kinds)
		compiled := map[string]*jsonschema.Schema{}
		p.eachJSON(func(path string, body []byte) {
			var e results.Envelope
			if err := json.Unmarshal(body, &e); err != nil {
				p.T.Errorf("%s: %v", path, err)
				return
			}
			kinds[e.Kind]++
			if compiled[e.Kind] == nil {
				compiled[e.Kind] = compile(p.T, schema.RunKind(e.Kind))
			}
			doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
			if err == nil {
				err = compiled[e.Kind].Validate(doc)
			}
			if err != nil {
				p.T.Errorf("%s doesn't fit the %s schema: %v\n%s", path, name, err, body)
			}
		})
	}
	return kinds
}

// eachJSON visits the JSON files of the project's results.
func (p *Project) eachJSON(visit func(path string, body []byte)) {
	p.T.Helper()
	err := filepath.WalkDir(p.Out, func(path string, d fs.DirEntry, err error) error {
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
		p.T.Error(err)
	}
}
