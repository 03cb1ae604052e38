package eval

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-run/berth/image"
	"github.com/berth-run/berth/internal/evalconfig/evalconfigtest"
	"github.com/berth-run/berth/internal/gateway"
	"github.com/berth-run/berth/internal/runner"
	"github.com/berth-run/berth/internal/shardtest"
)

// labelled puts set-up's image into an engine, made with the worker that a run finds.
func labelled(t *testing.T, e *shardtest.Engine) {
	t.Helper()
	worker := filepath.Join(t.TempDir(), "berth-worker")
	if err := os.WriteFile(worker, []byte("worker"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("BERTH_WORKER", worker)
	sum := sha256.Sum256([]byte("worker"))
	e.AddImage(ImageName("codex"), map[string]string{image.LabelWorker: hex.EncodeToString(sum[:])})
}

// config is an eval of three cases in two variants; "b" expects what the app won't say.
const config = `{
	"name": "test",
	"datasets": ["./cases.json"],
	"client": "berth/client/codex",
	"variants": [{ "name": "one", "model": "gpt-5.5" }, { "name": "two", "model": "gpt-6-luna" }],
	"redactStoredResponses": false
}`

const cases = `{ "name": "cases", "cases": [
	{ "id": "a", "input": "alpha", "assertions": { "containsText": "alpha" } },
	{ "id": "b", "input": "beta", "assertions": { "containsText": "gamma" } },
	{ "id": "c", "input": "delta", "assertions": { "containsText": "delta" } }
] }`

// rig is a request on a fake engine with real workers, answered by a scripted gateway.
type rig struct {
	Request
	engine *shardtest.Engine
	log    *shardtest.Buffer
}

func newRig(t *testing.T, o shardtest.Options, options ...string) *rig {
	t.Helper()
	e := shardtest.New(t, o)
	labelled(t, e)
	script := gateway.Default()
	parsed, err := runner.ParseOptions(options)
	if err != nil {
		t.Fatal(err)
	}
	log := &shardtest.Buffer{}
	return &rig{engine: e, log: log, Request: Request{
		Eval: evalconfigtest.Resolve(t, config, cases), Runner: RunnerPodman, Engine: e, Options: parsed, EvalDir: t.TempDir(),
		Script: &script, Progress: log,
	}}
}

func (r *rig) run(t *testing.T) *Result {
	t.Helper()
	res, err := Run(t.Context(), r.Request)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// left fails the test when the engine still has a shard.
func (r *rig) left(t *testing.T) {
	t.Helper()
	if list, err := r.engine.List(context.Background(), nil); err != nil || len(list) != 0 {
		t.Errorf("on the engine afterwards: %v, %v", list, err)
	}
}

// files reads everything below a folder.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		body, err := os.ReadFile(name)
		rel, _ := filepath.Rel(dir, name)
		all[rel] = string(body)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func decode[T any](t *testing.T, body string) T {
	t.Helper()
	var v T
	if err := json.NewDecoder(strings.NewReader(body)).Decode(&v); err != nil {
		t.Fatalf("%v in %.200s", err, body)
	}
	return v
}
