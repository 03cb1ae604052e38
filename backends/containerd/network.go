package containerd

import (
	"context"

	"github.com/berth-run/berth/backends/containerd/network"
)

// RunNetworkHelper doesn't return where this process is to do something in an engine's namespaces. A
// program whose shards are to have the engine's network calls it first of all in main.
func RunNetworkHelper() { network.RunHelper() }

// network is the engine's, as it runs now.
func (b *Backend) network() network.Engine {
	pid, _ := peer(b.engine.socket()) // 0 is one that isn't seen
	return network.Engine{PID: int(pid), Rootless: b.engine.rootless}
}

// attach joins a created task, whose process is pid, to the network it's to have: runc with a user
// namespace can't join a network namespace that was made before.
func (s *shard) attach(ctx context.Context, pid int) error {
	if !s.networked {
		return nil
	}
	return s.backend.network().Attach(ctx, s.instance, pid)
}

func (s *shard) detach(ctx context.Context) error {
	if !s.networked {
		return nil
	}
	return s.backend.network().Detach(ctx, s.instance)
}
