package chatgpt

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/session/client/private"
)

func TestProfile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "app")
	p, err := newProfile(dir)
	must(t, err)
	for _, d := range []string{dir, filepath.Join(dir, ".codex"), filepath.Join(dir, "tmp"), p.workspace} {
		must(t, private.CheckDir(d))
	}
	if !strings.HasPrefix(p.workspace, filepath.Join(dir, "tmp", "mst-chatgpt-workspace-")) {
		t.Errorf("workspace %s", p.workspace)
	}
	must(t, p.writeConfig([]byte("a = 1\n")))
	info, err := os.Stat(filepath.Join(dir, ".codex", "config.toml"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("config.toml %v, error %v", info, err)
	}
	if _, err := newProfile(dir); code.Of(err) != code.HomeNotFresh {
		t.Errorf("a second profile: %v", err)
	}
	must(t, p.remove())
	must(t, p.remove()) // what is gone is gone
	if _, err := newProfile(dir); err != nil {
		t.Errorf("after it was removed: %v", err)
	}
}

// TestAnothersProfile: what isn't the folder that was made isn't removed.
func TestAnothersProfile(t *testing.T) {
	root := t.TempDir()
	dir, other := filepath.Join(root, "app"), filepath.Join(root, "other")
	for name, replace := range map[string]func() error{
		"a folder": func() error { return os.Mkdir(dir, 0o700) },
		"a link":   func() error { return os.Symlink(other, dir) },
	} {
		t.Run(name, func(t *testing.T) {
			p, err := newProfile(dir)
			must(t, err)
			must(t, os.Rename(dir, other))
			must(t, replace())
			if err := p.remove(); code.Of(err) != code.HomeUnsafe {
				t.Errorf("error %v", err)
			}
			if _, err := os.Lstat(dir); err != nil {
				t.Error(err)
			}
			must(t, os.Remove(dir))
			must(t, os.RemoveAll(other))
		})
	}
}

func TestLink(t *testing.T) {
	for draft, want := range map[string]string{
		"":           "codex://new?path=%2Fhome%2Fa%20b",
		"a-z_A.Z~09": "codex://new?path=%2Fhome%2Fa%20b&prompt=a-z_A.Z~09",
		"!*'()[]é\n": "codex://new?path=%2Fhome%2Fa%20b&prompt=%21%2A%27%28%29%5B%5D%C3%A9%0A",
	} {
		if got, err := newLink("/home/a b", draft); err != nil || got != want {
			t.Errorf("%q: %s, error %v, want %s", draft, got, err, want)
		}
	}
	empty, _ := newLink("/w", "")
	room := maxLink - len(empty) - len("&prompt=")
	if _, err := newLink("/w", strings.Repeat("a", room)); err != nil {
		t.Error(err)
	}
	if _, err := newLink("/w", strings.Repeat("a", room+1)); code.Of(err) != code.PromptTooLarge {
		t.Errorf("error %v", err)
	}
}
