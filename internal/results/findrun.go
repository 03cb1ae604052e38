package results

import (
	"fmt"
	"os"
	"path/filepath"
)

// newestWith is the eval's folder below base that has the newest run of a name.
func newestWith(base, name string) (string, error) {
	evals, err := os.ReadDir(base)
	if err != nil {
		return "", fmt.Errorf("%w: %q: %w; give the run's folder, or --output-dir", ErrNoRun, name, err)
	}
	dir, newest := "", ""
	for _, e := range evals {
		ids, err := runIDs(filepath.Join(base, e.Name(), "runs"))
		if err != nil {
			continue // no folder of an eval's
		}
		for _, id := range matching(ids, name) {
			if id > newest {
				dir, newest = filepath.Join(base, e.Name()), id
			}
		}
	}
	if dir == "" {
		return "", fmt.Errorf("%w: %q below %s; give the run's folder, or --output-dir", ErrNoRun, name, base)
	}
	return dir, nil
}
