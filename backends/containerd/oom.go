package containerd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	cgroup1 "github.com/containerd/cgroups/v3/cgroup1/stats"
	cgroup2 "github.com/containerd/cgroups/v3/cgroup2/stats"
	"github.com/containerd/containerd/api/services/tasks/v1"
	"github.com/containerd/errdefs"
	"github.com/containerd/typeurl/v2"
	"golang.org/x/sys/unix"
)

// oomKilled reads the kernel's count of kills for want of memory in the shard's cgroup, which is there as
// long as its task, or in its slice, which is until it's removed: so it's known whenever it is asked for, and
// by whoever asks.
func (s *shard) oomKilled(ctx context.Context) (bool, error) {
	switch g := s.backend.groups; {
	case !g.has("memory"):
		return false, nil
	case g.manager != "":
		return anyKilled(filepath.Join(g.sliceDir(s.id), "memory.events"))
	}
	r, err := s.tasks().Metrics(ctx, &tasks.MetricsRequest{Filters: []string{fmt.Sprintf("id==%s", s.id)}})
	if err = native(err); errdefs.IsNotFound(err) {
		return false, nil // removed meanwhile
	}
	if err != nil {
		return false, fmt.Errorf("asking how shard %.12s ended: %w", s.id, explain(err))
	}
	for _, m := range r.Metrics {
		v, err := typeurl.UnmarshalAny(m.Data)
		if err != nil {
			return false, fmt.Errorf("asking how shard %.12s ended: %w", s.id, err)
		}
		switch v := v.(type) {
		case *cgroup1.Metrics:
			return v.GetMemoryOomControl().GetOomKill() > 0, nil
		case *cgroup2.Metrics:
			return v.GetMemoryEvents().GetOomKill() > 0, nil
		}
	}
	return false, nil
}

// anyKilled reads the count for a group and all below it, those that were and are gone included.
func anyKilled(events string) (bool, error) {
	text, err := os.ReadFile(events)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ENODEV) {
		return false, nil // removed meanwhile
	}
	for line := range strings.Lines(string(text)) {
		if n, ok := strings.CutPrefix(line, "oom_kill "); ok {
			return strings.TrimSpace(n) != "0", nil
		}
	}
	return false, err
}
