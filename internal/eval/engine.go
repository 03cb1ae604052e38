package eval

import (
	"context"
	"fmt"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/backends/containerd"
	"github.com/berth-run/berth/backends/podman"
)

// Runners, as --runner names them. Podman is the default.
const (
	RunnerPodman     = "podman"
	RunnerContainerd = "containerd"
)

// OpenEngine connects to the engine that a --runner names.
func OpenEngine(ctx context.Context, name string) (backends.Backend, error) {
	switch name {
	case RunnerPodman:
		return podman.New(ctx, podman.Options{})
	case RunnerContainerd:
		return containerd.New(ctx, containerd.Options{})
	case "docker", "local":
		return nil, fmt.Errorf("%w %q: that one is mst's own; berth runs the same config by --runner podman", ErrRunner, name)
	}
	return nil, fmt.Errorf("%w %q; there are podman and containerd", ErrRunner, name)
}

// engineInfo asks the engine about itself, and tells the user what it warns of.
func (q Request) engineInfo(ctx context.Context) (backends.Info, error) {
	info, err := q.Engine.Info(ctx)
	for _, w := range info.Warnings {
		fmt.Fprintf(q.Progress, "[berth] warning: %s\n", w)
	}
	return info, err
}
