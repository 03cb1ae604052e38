package rollout

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Bounds of contract §4.5.
const (
	MaxFiles = 10_000
	MaxSize  = 32 << 20
)

// Snapshot is the set of records that a Codex home held at one moment: whatever answers a prompt sent
// later isn't among them.
type Snapshot struct {
	home  string
	known map[string]struct{}
}

// TakeSnapshot lists the records below home, which may have none.
func TakeSnapshot(home string) (Snapshot, error) {
	paths, err := list(home)
	if err != nil {
		return Snapshot{}, err
	}
	s := Snapshot{home: home, known: make(map[string]struct{}, len(paths))}
	for _, p := range paths {
		s.known[p] = struct{}{}
	}
	return s, nil
}

// New lists the records that weren't there when the snapshot was taken, in the order of their names,
// which is that of their start.
func (s Snapshot) New() ([]string, error) {
	paths, err := list(s.home)
	if err != nil {
		return nil, err
	}
	fresh := paths[:0]
	for _, p := range paths {
		if _, old := s.known[p]; !old {
			fresh = append(fresh, p)
		}
	}
	return fresh, nil
}

// list walks sessions/YYYY/MM/DD; anything deeper or otherwise named isn't a record.
func list(home string) ([]string, error) {
	root := filepath.Join(home, "sessions")
	var paths []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			// Codex may rename or remove under the walk; what's gone isn't a record any more.
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		}
		depth := strings.Count(strings.TrimPrefix(path, root), string(os.PathSeparator))
		if d.IsDir() {
			if depth > 3 {
				return fs.SkipDir
			}
			return nil
		}
		if depth != 4 || !isRecord(d.Name()) {
			return nil
		}
		if len(paths) == MaxFiles {
			return fmt.Errorf("%w: over %d below %s", ErrTooManyFiles, MaxFiles, root)
		}
		paths = append(paths, path)
		return nil
	})
	return paths, err
}

func isRecord(name string) bool {
	return strings.HasPrefix(name, "rollout-") && strings.HasSuffix(name, ".jsonl")
}
