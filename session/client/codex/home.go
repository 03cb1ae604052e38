package codex

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/session/client/private"
)

// home is one trial's place: its HOME with CODEX_HOME in it, its workspace and its temporary folder.
type home struct{ dir string }

func (h home) userHome() string  { return filepath.Join(h.dir, "home") }
func (h home) codexHome() string { return filepath.Join(h.dir, "home", ".codex") }
func (h home) workspace() string { return filepath.Join(h.dir, "workspace") }
func (h home) tmp() string       { return filepath.Join(h.dir, "tmp") }

// newHome makes one below dir. Each folder is made exclusively: nothing of another trial can be in it.
func newHome(dir string) (home, error) {
	root, err := os.MkdirTemp(dir, "trial-") // 0700, exclusively
	if err != nil {
		return home{}, code.Errorf(code.HomeUnsafe, "%w", err)
	}
	h := home{dir: root}
	for _, d := range []string{h.userHome(), h.codexHome(), h.workspace(), h.tmp()} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return h, homeError(err, h.workspace() == d)
		}
	}
	return h, nil
}

func homeError(err error, workspace bool) error {
	switch {
	case errors.Is(err, fs.ErrExist):
		return code.Errorf(code.HomeNotFresh, "%w", err)
	case workspace:
		return code.Errorf(code.WorkspaceUnsafe, "%w", err)
	}
	return code.Errorf(code.HomeUnsafe, "%w", err)
}

func (h home) writeConfig(text []byte) error {
	return os.WriteFile(filepath.Join(h.codexHome(), "config.toml"), text, 0o600)
}

// remove takes everything away.
func (h home) remove() error {
	if h.dir == "" {
		return nil
	}
	return private.RemoveAll(h.dir)
}
