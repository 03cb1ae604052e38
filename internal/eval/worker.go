package eval

import (
	"fmt"
	"os"
	"path/filepath"
)

// workerFile finds the worker for an architecture: $BERTH_WORKER, or beside berth itself.
func workerFile(arch string) (string, error) {
	if f := os.Getenv("BERTH_WORKER"); f != "" {
		return f, nil
	}
	exe, err := os.Executable()
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(exe); err == nil {
		exe = real
	}
	name := "berth-worker-linux-" + arch
	for _, dir := range []string{filepath.Dir(exe), filepath.Join(filepath.Dir(exe), "..", "libexec", "berth")} {
		f := filepath.Join(dir, name)
		if _, err := os.Stat(f); err == nil {
			return f, nil
		}
	}
	return "", fmt.Errorf("%w for linux/%s: %s should be beside %s; `make build` makes both, or set BERTH_WORKER to its path", ErrNoWorker, arch, name, exe)
}
