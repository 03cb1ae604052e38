package chatgpt

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/berth-run/berth/internal/code"
)

// What of a profile is no state to begin another one with: config.toml, credentials and records are each
// batch's own, and caches are made anew.
var (
	notState = []string{
		"tmp", ".cache", ".codex/config.toml", ".codex/auth.json", ".codex/sessions", ".codex/archived_sessions",
		".codex/history.jsonl", ".codex/log", ".codex/tmp",
	}
	notStateAnywhere = []string{"Cache", "Code Cache", "GPUCache", "DawnCache", "DawnGraphiteCache", "DawnWebGPUCache", "ShaderCache", "GrShaderCache", "Crashpad", "Crash Reports", "lock"}
)

// isState tells whether a file or folder of a profile is app state.
func isState(rel string, d fs.DirEntry) bool {
	switch name := filepath.Base(rel); {
	case slices.Contains(notState, filepath.ToSlash(rel)), slices.Contains(notStateAnywhere, name):
		return false
	case strings.HasPrefix(name, "Singleton"): // Chromium's, of a process
		return false
	}
	return d.IsDir() || d.Type().IsRegular()
}

// copyState copies app state from one profile into another, which keeps what it has.
func copyState(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		switch {
		case err != nil || rel == ".":
			return err
		case !isState(rel, d) && d.IsDir():
			return filepath.SkipDir
		case !isState(rel, d):
			return nil
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o700)
		}
		return copyStateFile(path, filepath.Join(to, rel))
	})
}

func copyStateFile(from, to string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err := io.Copy(dst, src); err != nil {
		dst.Close()
		return err
	}
	return dst.Close()
}

// warm puts the state that the batch begins with into its profile.
func (s *batch) warm() error {
	if s.batch.ProfileDir == "" {
		return nil
	}
	if err := copyState(s.batch.ProfileDir, s.profile.dir); err != nil {
		return code.Errorf(code.HomeUnsafe, "the state that the profile begins with: %w", err)
	}
	return nil
}

// saveState writes what the app has made of its profile to dir, which mustn't be there. The app has ended.
func (s *batch) saveState(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	return copyState(s.profile.dir, dir)
}
