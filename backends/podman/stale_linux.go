package podman

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/berth-run/berth/internal/owner"
)

// RemoveStale ends the monitors of execs whose shard is gone, which a berth leaves that is killed between
// the shard's removal and theirs. Package owner calls it in a sweep.
func (b *Backend) RemoveStale(ctx context.Context) error {
	if b.info.Remote {
		return nil
	}
	var failed []error
	for _, id := range b.monitored() {
		if err := b.api.get(ctx, route("/containers/%s/exists", id), nil, nil); isNotFound(err) {
			failed = append(failed, reapMonitors(id))
		} else if err != nil {
			failed = append(failed, explain(err))
		}
	}
	return errors.Join(failed...)
}

// monitored are the containers of this engine with berth's names whose execs have a monitor.
func (b *Backend) monitored() (ids []string) {
	dirs, _ := filepath.Glob("/proc/[0-9]*") // the pattern is a good one
	for _, dir := range dirs {
		if id := b.execMonitor(arguments(dir)); id != "" && owned(dir) && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// execMonitor gives the container of an exec's conmon, "" where these are the arguments of something else,
// of another engine's, or of who isn't berth. A container's own conmon has its id for -u.
func (b *Backend) execMonitor(args []string) string {
	id, session := following(args, "-c"), following(args, "-u")
	switch {
	case filepath.Base(args[0]) != "conmon", id == "", session == "", session == id:
		return ""
	case !strings.HasPrefix(following(args, "-n"), owner.NamePrefix):
		return ""
	}
	// What conmon runs at the end is a podman of the engine's: each of its arguments follows a flag.
	i := slices.Index(args, "--root")
	if i < 0 || i+2 >= len(args) || args[i+2] != b.storage {
		return ""
	}
	return id
}
