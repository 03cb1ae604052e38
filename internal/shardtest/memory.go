package shardtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/berth-run/berth/session/client"
)

// ShardOf gives the shard that an App's batch is run in.
func (e *Engine) ShardOf(b client.Batch) string {
	rel, err := filepath.Rel(e.dir, b.EvidenceDir)
	if err != nil {
		e.t.Error(err)
	}
	id, _, _ := strings.Cut(rel, string(filepath.Separator))
	return id
}

// OOMKill has a shard's cgroup tell that the kernel has killed a process there for want of memory. Nothing is
// killed; who is to be sees to that.
func (e *Engine) OOMKill(id string) { e.tellKills(id, 1) }

func (e *Engine) tellKills(id string, n int) {
	err := os.MkdirAll(e.cgroup(id), 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(e.cgroup(id), "memory.events"), fmt.Appendf(nil, "oom %d\noom_kill %d\n", n, n), 0o600)
	}
	if err != nil {
		e.t.Errorf("shard %s: %v", id, err)
	}
}

// cgroup is where a shard's worker looks for its own.
func (e *Engine) cgroup(id string) string { return filepath.Join(e.dir, id, "cgroup") }
