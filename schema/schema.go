// Package schema holds the JSON Schemas of the files that berth reads and writes, for editors and
// for the tests that check every written file. berth's own reader of eval files (package evalconfig)
// is stricter: it also knows what fits together.
package schema

import (
	"bytes"
	"embed"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Names of the schemas.
const (
	EvalConfig  = "eval-config.schema.json"
	EvalDataset = "eval-dataset.schema.json"
	// Run is the folder of the schemas of a run's files; see RunKind.
	Run = "run/v1/"
)

// base makes a schema's name a URL, so that nothing is looked for in the working directory.
const base = "https://github.com/berth-run/berth/schema/"

//go:embed *.schema.json run/v1/*.schema.json
var files embed.FS

// RunKind names the schema for a file of a run, by its kind.
func RunKind(kind string) string { return Run + kind + ".schema.json" }

// Source is a schema's text.
func Source(name string) ([]byte, error) { return files.ReadFile(name) }

// Compile readies a schema for validating what jsonschema.UnmarshalJSON read.
func Compile(name string) (*jsonschema.Schema, error) {
	data, err := Source(name)
	if err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(base+name, doc); err != nil {
		return nil, err
	}
	return c.Compile(base + name)
}
