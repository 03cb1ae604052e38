package engine

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/berth-run/berth/internal/redact"
	"github.com/berth-run/berth/session/client/codexconfig"
)

// TestStrictConfig has the real Codex read everything that a config may have, refusing what it doesn't
// know.
func TestStrictConfig(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the real Codex: not with -short")
	}
	path := os.Getenv("BERTH_CODEX")
	if path == "" {
		t.Skip("needs the real Codex: set BERTH_CODEX to the binary of npm's @openai/codex")
	}
	for name, text := range map[string]string{
		"sample":      string(codexconfig.Sample()),
		"unknown key": "bogus = 1\n" + string(codexconfig.Sample()),
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			must(t, os.WriteFile(filepath.Join(home, "config.toml"), []byte(text), 0o600))
			c := Codex{Path: path, Dir: home, Env: []string{"PATH=/usr/bin:/bin", "HOME=" + home, "CODEX_HOME=" + home}, Redact: &redact.Set{}}
			out, err := c.command(context.Background(), time.Minute, "", "app-server", "--strict-config", "--print-startup-config")
			if (err == nil) != (name == "sample") {
				t.Errorf("error %v: %s", err, out)
			}
		})
	}
}
