package results

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/shardproto"
	"github.com/berth-run/berth/schema"
	"github.com/berth-run/berth/schema/schematest"
	"github.com/berth-run/berth/session/client"
)

// writeEverything is a run with every kind of file and outcome, and a second one to compare.
func writeEverything(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	e := sampleEval(t, false)
	r := newRun(t, e, dir, start)
	finish(t, r, e, collect(t, r, e, allAnswered), true)
	if ok, err := r.PublishLatest(); !ok || err != nil {
		t.Fatalf("%v %v", ok, err)
	}
	part := *e
	part.Selection.Trials = 2
	second := newRun(t, &part, dir, start.AddDate(0, 0, 1))
	finish(t, second, &part, collect(t, second, &part, func(k shardproto.Key) *client.Result {
		res := answered(k)
		switch {
		case k.CaseID == "sum" && k.Trial == 0:
			return nil
		case k.CaseID == "tool":
			res = client.Result{Infrastructure: true, FailureCode: code.ShardSilent, Error: "shard_silent: nothing for 60 s"}
		}
		return &res
	}), true)
	return dir
}

// validateAll checks every JSON file below dir and gives the kinds it met.
func validateAll(t *testing.T, dir string, compiled func(kind string) *jsonschema.Schema) map[string]int {
	t.Helper()
	kinds := map[string]int{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		var env Envelope
		if err := json.Unmarshal(data, &env); err != nil {
			return err
		}
		kinds[env.Kind]++
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(string(data)))
		if err != nil {
			return err
		}
		if err := compiled(env.Kind).Validate(v); err != nil {
			t.Errorf("%s: %v", p, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return kinds
}

func checkKinds(t *testing.T, kinds map[string]int) {
	t.Helper()
	for _, k := range []string{KindRun, KindTrial, KindScore, KindResults, KindSummary, KindLatest} {
		if kinds[k] == 0 {
			t.Errorf("no file of kind %s was checked", k)
		}
	}
}

func TestFilesFitSchemas(t *testing.T) {
	dir := writeEverything(t)
	for set, compile := range schematest.Sets(t) {
		t.Run(set, func(t *testing.T) {
			checkKinds(t, validateAll(t, dir, func(kind string) *jsonschema.Schema {
				return compile(t, schema.RunKind(kind))
			}))
		})
	}
}
