package schema

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

func TestEverySchemaCompiles(t *testing.T) {
	n := 0
	err := fs.WalkDir(files, ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		n++
		if _, err := Compile(path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		return nil
	})
	if err != nil || n != 8 {
		t.Errorf("%d schemas, %v", n, err)
	}
}

func TestNoSuchSchema(t *testing.T) {
	if _, err := Compile(RunKind("nope")); err == nil {
		t.Error("a schema that isn't there compiled")
	}
}

// The schemas bite: each document is wrong in one way.
func TestRefused(t *testing.T) {
	for doc, name := range map[string]string{
		`{"name": "e", "datasets": ["d"], "variannts": []}`:                                                      EvalConfig,
		`{"name": "e", "datasets": []}`:                                                                          EvalConfig,
		`{"name": "e", "datasets": ["d"], "clientOptions": {"model": "m"}}`:                                      EvalConfig,
		`{"name": "e", "datasets": ["d"], "servers": {"a": {"transport": "stdio"}}}`:                             EvalConfig,
		`{"name": "d", "cases": [{"id": "a"}]}`:                                                                  EvalDataset,
		`{"name": "d", "cases": [{"id": "a", "input": "x", "assertions": {"toolCallCount": {}}}]}`:               EvalDataset,
		`{"format": "mst.run/v1", "kind": "latest", "runId": "x", "createdAt": "2026-01-01T", "path": "runs/x"}`: RunKind("latest"),
	} {
		s, err := Compile(name)
		if err != nil {
			t.Fatal(err)
		}
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(doc))
		if err != nil {
			t.Fatal(err)
		}
		if s.Validate(v) == nil {
			t.Errorf("%s takes %s", name, doc)
		}
	}
}

func TestSchemasAreTidy(t *testing.T) {
	for _, name := range []string{EvalConfig, EvalDataset, RunKind("run")} {
		raw, err := Source(name)
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid(raw) || !bytes.HasSuffix(raw, []byte("}\n")) {
			t.Errorf("%s isn't tidy JSON", name)
		}
	}
}
