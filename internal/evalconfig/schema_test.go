package evalconfig

import (
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/berth-run/berth/schema"
	"github.com/berth-run/berth/schema/schematest"
)

// rich are files that use as much of the formats as berth takes.
const (
	richConfig = `{"$schema": "x", "name": "e", "datasets": ["cases.json", {"type": "dir", "path": "d", "recursive": true}],
	  "client": "berth/client/codex", "model": "m", "provider": "openai", "clientOptions": {"reasoningEffort": "low", "env": {"A": "b"}},
	  "servers": {
	    "wiki": {"transport": "http", "serverUrl": "https://h.test/eval", "auth": {"accessTokenEnv": "T"}, "protocol": "auto", "retryAttempts": 1},
	    "calc": {"transport": "stdio", "command": "c", "args": ["-v"], "cwd": "/", "env": {"A": ""}, "inheritEnv": false, "quiet": true, "minTools": 2, "callTimeoutMs": 5}},
	  "toolMap": {"find": ["wiki.search"]}, "inputTemplate": "{{input}}",
	  "variants": [{"name": "a", "description": "x", "servers": ["calc"], "metrics": ["passed"], "judges": []}, {"name": "b", "model": "n", "inputTemplate": "Q {{input}}"}],
	  "baseline": "b", "metrics": ["passed", {"type": "tool_count"}], "judges": [], "run": {"trials": 2, "filterTags": ["t"]}, "passThreshold": 0.5,
	  "timeout": 1000, "maxToolCalls": 3, "temperature": 0.5, "maxTokens": 10, "requireEvalEndpoint": true, "redactStoredResponses": false,
	  "plugins": [], "extends": [], "results": {"store": {"type": "file", "dir": "out"}}, "pricing": {"m": {"input": 1, "output": 2, "cacheRead": 0.1}}}`
	richDataset = `{"$schema": "x", "name": "d", "description": "x", "metadata": {"a": 1}, "cases": [
	  {"id": "1", "input": "x", "description": "y", "trials": 2, "passThreshold": 0.5, "tags": ["t"], "metadata": {}, "judgeReps": 1,
	   "expected": {"answer": "z", "criteria": {"a": "b"}, "own": [1]},
	   "assertions": {"containsText": ["a", "b"], "matchesPattern": "^a$", "toolCallCount": {"min": 1, "max": 2},
	     "toolsTriggered": {"calls": [{"name": "wiki.search", "arguments": {"q": {"$pattern": "a"}}, "required": false}], "order": "strict", "exclusive": true}}},
	  {"id": "2", "input": "x", "tags": ["t"], "assertions": {"containsText": "a", "matchesPattern": ["a"], "toolCallCount": {"exact": 0}}}]}`
)

func TestRichFiles(t *testing.T) {
	e, err := resolve(t, richConfig, map[string]string{"cases.json": richDataset, "d/x.json": `{"name": "x", "cases": [{"id": "3", "input": "x", "tags": ["t"]}]}`}, ResolveOptions{})
	if err != nil || len(e.Cases) != 3 || len(e.Variants) != 2 {
		t.Fatalf("%+v, %v", e, err)
	}
}

func TestRichFilesFitSchemas(t *testing.T) {
	for set, compile := range schematest.Sets(t) {
		t.Run(set, func(t *testing.T) {
			validate(t, compile(t, schema.EvalConfig), schema.EvalConfig, richConfig)
			validate(t, compile(t, schema.EvalDataset), schema.EvalDataset, richDataset)
		})
	}
}

func validate(t *testing.T, s *jsonschema.Schema, name, text string) {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(v); err != nil {
		t.Errorf("%s: %v", name, err)
	}
}
