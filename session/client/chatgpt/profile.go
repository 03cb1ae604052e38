package chatgpt

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/session/client/codexconfig"
	"github.com/berth-run/berth/session/client/private"
)

// profile is a batch's fresh home: the app's HOME with CODEX_HOME, temporary folder and workspace in it.
type profile struct {
	dir       string
	workspace string
	made      fs.FileInfo // dir as it was made
	madeWork  fs.FileInfo // workspace as it was made
}

func (p *profile) codexHome() string { return filepath.Join(p.dir, ".codex") }
func (p *profile) tmp() string       { return filepath.Join(p.dir, "tmp") }

// newProfile makes one at dir, which must not be there: nothing of another batch can be in it. When it
// fails after that, it has removed what it made.
func newProfile(dir string) (*profile, error) {
	p := &profile{dir: dir}
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil, code.Errorf(code.HomeNotFresh, "%s is there already: another batch's profile wasn't removed", dir)
	}
	if err == nil {
		p.made, err = os.Lstat(dir)
	}
	if err != nil {
		return nil, code.Errorf(code.HomeUnsafe, "%w", err)
	}
	if err := p.fill(); err != nil {
		return nil, errors.Join(err, p.remove())
	}
	return p, nil
}

// fill makes what is in it. The XDG folders are made by whoever uses them, as at a first login.
func (p *profile) fill() error {
	for _, dir := range []string{p.codexHome(), p.tmp()} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return code.Errorf(code.HomeUnsafe, "%w", err)
		}
	}
	for _, dir := range []string{p.dir, p.tmp()} {
		if err := private.CheckDir(dir); err != nil {
			return code.Errorf(code.HomeUnsafe, "%w", err)
		}
	}
	workspace, err := os.MkdirTemp(p.tmp(), "mst-chatgpt-workspace-") // 0700
	if err != nil {
		return code.Errorf(code.WorkspaceUnsafe, "%w", err)
	}
	p.workspace = workspace
	if p.madeWork, err = os.Lstat(workspace); err != nil {
		return code.Errorf(code.WorkspaceUnsafe, "%w", err)
	}
	return nil
}

// checkWorkspace makes sure that the workspace is still the one that was made: the agent of an earlier
// trial may have put something else in its place.
func (p *profile) checkWorkspace() error {
	now, err := os.Lstat(p.workspace)
	if err == nil && !os.SameFile(now, p.madeWork) {
		err = fmt.Errorf("%s is another file than the folder that was made", p.workspace)
	}
	if err != nil {
		return code.Errorf(code.WorkspaceUnsafe, "%w", err)
	}
	return nil
}

// writeConfig puts config.toml in its place whole. What there was keeps the keys that text doesn't have.
func (p *profile) writeConfig(text []byte) error {
	path := filepath.Join(p.codexHome(), "config.toml")
	before, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if text, err = codexconfig.Merge(before, text); err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// remove takes the profile away, if it's still the one that was made.
func (p *profile) remove() error {
	now, err := os.Lstat(p.dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return code.Errorf(code.HomeUnsafe, "%w", err)
	case p.made != nil && (!os.SameFile(now, p.made) || !private.Owned(now)):
		return code.Errorf(code.HomeUnsafe, "%s is another folder than the one that was made; it's left as it is", p.dir)
	}
	if err := private.RemoveAll(p.dir); err != nil {
		return fmt.Errorf("removing the profile: %w", err)
	}
	return nil
}
