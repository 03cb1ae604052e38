// Package evalconfigtest makes the evals that tests of what runs and records them need.
package evalconfigtest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/berth-run/berth/internal/evalconfig"
)

// Resolve reads a config, eval.json, beside its one dataset, cases.json, and picks everything in it.
func Resolve(t testing.TB, config, cases string) *evalconfig.Eval {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"eval.json": config, "cases.json": cases} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cfg, err := evalconfig.Load(filepath.Join(dir, "eval.json"))
	if err != nil {
		t.Fatal(err)
	}
	e, err := cfg.Resolve(evalconfig.ResolveOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return e
}
