package engine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/google/go-cmp/cmp"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/codetest"
	"github.com/berth-run/berth/internal/redact"
	"github.com/berth-run/berth/session/client"
)

// marketplace makes one in dir with a plugin called notes.
func marketplace(t *testing.T, dir string) {
	t.Helper()
	for name, text := range map[string]string{
		".agents/plugins/marketplace.json": `{"name": "local", "plugins": [{"name": "notes", "source": {"source": "local", "path": "./plugins/notes"},
		  "policy": {"installation": "AVAILABLE", "authentication": "ON_INSTALL"}, "category": "Productivity"}]}`,
		"plugins/notes/.codex-plugin/plugin.json": `{"name": "notes", "version": "1.2.3", "description": "none"}`,
	} {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
}

// TestPlugins installs with the real Codex, whose config keeps what was in it.
func TestPlugins(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the real Codex: not with -short")
	}
	path := os.Getenv("BERTH_CODEX")
	if path == "" {
		t.Skip("needs the real Codex: set BERTH_CODEX to the binary of npm's @openai/codex")
	}
	home, market := t.TempDir(), t.TempDir()
	marketplace(t, market)
	must(t, os.WriteFile(filepath.Join(home, "config.toml"), []byte("approval_policy = \"never\"\n[plugins.\"a@b\"]\nenabled = false\n"), 0o600))
	c := Codex{Path: path, Dir: home, Env: []string{"PATH=/usr/bin:/bin", "HOME=" + home, "CODEX_HOME=" + home}, Redact: &redact.Set{}}
	got, err := c.AddPlugins(t.Context(), []client.Plugin{{Name: "notes", Marketplace: client.Marketplace{Source: market}}})
	if d := cmp.Diff([]client.InstalledPlugin{{Name: "notes", Marketplace: "local", Version: "1.2.3"}}, got); d != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	var config struct {
		ApprovalPolicy string `toml:"approval_policy"`
		Plugins        map[string]struct{ Enabled bool }
	}
	_, err = toml.DecodeFile(filepath.Join(home, "config.toml"), &config)
	must(t, err)
	if config.ApprovalPolicy != "never" || len(config.Plugins) != 2 || config.Plugins["a@b"].Enabled || !config.Plugins["notes@local"].Enabled {
		t.Errorf("config %+v", config)
	}
	for name, tc := range map[string]struct {
		plugin client.Plugin
		text   string
	}{
		"no such plugin":      {client.Plugin{Name: "gone", Marketplace: client.Marketplace{Source: market}}, "plugin gone: codex plugin add --json: exit status 1: plugin `gone` was not found"},
		"no such marketplace": {client.Plugin{Name: "notes", Marketplace: client.Marketplace{Source: market + "/none"}}, "plugin notes: codex plugin marketplace add --json: exit status 1: "},
	} {
		_, err := c.AddPlugins(t.Context(), []client.Plugin{tc.plugin})
		if code.Of(err) != code.PluginSetupFailed || !strings.Contains(err.Error(), tc.text) {
			t.Errorf("%s: error %v, want one with %q", name, err, tc.text)
		}
		codetest.Saw(t, code.Of(err))
	}
}

// TestPluginsSayWhatFailed: an answer that can't be read is a failed step, too.
func TestPluginsSayWhatFailed(t *testing.T) {
	for script, text := range map[string]string{
		`echo no`:   "codex plugin marketplace add --json: unexpected answer",
		`echo '{}'`: "tells no name of the marketplace",
		`case $2 in add) echo "Error: no tok-0123456789abcdef"; echo trace; exit 2 ;; esac; echo '{"marketplaceName": "m"}'`: "codex plugin add --json: exit status 2: no [redacted]",
	} {
		c, _ := scripted(t, script)
		c.Redact.Add(secret)
		_, err := c.AddPlugins(t.Context(), []client.Plugin{{Name: "p", Marketplace: client.Marketplace{Source: "/m"}}})
		if code.Of(err) != code.PluginSetupFailed || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v, want %q", script, err, text)
		}
	}
}
