package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/image"
	"github.com/berth-run/berth/internal/eval"
	"github.com/berth-run/berth/internal/shardtest"
)

// rig is the command line over a fake engine with real workers.
type rig struct {
	*app
	engine         *shardtest.Engine
	stdout, stderr *shardtest.Buffer
	signals        chan os.Signal
	dir            string // with eval.json and cases.json
}

func newRig(t *testing.T, o shardtest.Options) *rig {
	t.Helper()
	r := &rig{
		engine: shardtest.New(t, o), stdout: &shardtest.Buffer{}, stderr: &shardtest.Buffer{}, signals: make(chan os.Signal, 2), dir: t.TempDir(),
	}
	r.app = &app{stdout: r.stdout, stderr: r.stderr, openEngine: func(_ context.Context, name string) (backends.Backend, error) {
		if name != eval.RunnerPodman {
			return nil, fmt.Errorf("%w %q", eval.ErrRunner, name)
		}
		return r.engine, nil
	}}
	worker := filepath.Join(r.dir, "berth-worker")
	r.write(t, "berth-worker", "worker")
	t.Setenv("BERTH_WORKER", worker)
	sum := sha256.Sum256([]byte("worker"))
	r.engine.AddImage(eval.ImageName("codex"), map[string]string{image.LabelWorker: hex.EncodeToString(sum[:])})
	r.write(t, "eval.json", `{
		"name": "test", "datasets": ["./cases.json"], "client": "berth/client/codex",
		"variants": [{ "name": "one", "model": "gpt-5.5" }, { "name": "two", "model": "gpt-6-luna" }],
		"redactStoredResponses": false
	}`)
	r.write(t, "cases.json", `{ "name": "cases", "cases": [
		{ "id": "a", "input": "alpha", "tags": ["x"], "assertions": { "containsText": "alpha" } },
		{ "id": "b", "input": "beta", "assertions": { "containsText": "beta" } }
	] }`)
	t.Chdir(r.dir)
	return r
}

func (r *rig) write(t *testing.T, name, body string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, name), []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
}

// do runs a command line, with what it prints taken apart.
func (r *rig) do(args ...string) int {
	ctx, stop := interruptible(r.signals)
	defer stop()
	return r.execute(ctx, args)
}
