// Package schematest gives tests every set of schemas that a file of berth's must fit: the project's
// own, and MST's published ones where somebody has put them.
package schematest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/berth-run/berth/schema"
)

// EnvPublished names a folder with MST's own schemas, as its repository has them below schema/.
// They aren't part of this project.
const EnvPublished = "BERTH_MST_SCHEMAS"

// Set is one set of schemas; name is a path below its folder, as schema.Compile takes it.
type Set func(t *testing.T, name string) *jsonschema.Schema

// Sets are the project's own and, where they are, the published ones.
func Sets(t *testing.T) map[string]Set {
	t.Helper()
	sets := map[string]Set{"own": own}
	if dir := published(); dir != "" {
		sets["published"] = func(t *testing.T, name string) *jsonschema.Schema {
			t.Helper()
			return must(t)(jsonschema.NewCompiler().Compile(filepath.Join(dir, filepath.FromSlash(name))))
		}
	} else {
		t.Logf("only our own schemas: set %s to a folder with MST's to check against those too", EnvPublished)
	}
	return sets
}

func own(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	return must(t)(schema.Compile(name))
}

func must(t *testing.T) func(*jsonschema.Schema, error) *jsonschema.Schema {
	return func(s *jsonschema.Schema, err error) *jsonschema.Schema {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
}

// published is the folder of MST's schemas, or "".
func published() string {
	dir := os.Getenv(EnvPublished)
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "data", "mst-schema") // beside the checkout, seen from a package two folders down
	}
	if _, err := os.Stat(filepath.Join(dir, schema.EvalConfig)); err != nil {
		return ""
	}
	return dir
}
