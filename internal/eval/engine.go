package eval

import (
	"context"
	"fmt"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/backends/podman"
)

// RunnerPodman is the one runner so far.
const RunnerPodman = "podman"

// OpenEngine connects to the engine that a --runner names.
func OpenEngine(ctx context.Context, name string) (backends.Backend, error) {
	switch name {
	case RunnerPodman:
		return podman.New(ctx, podman.Options{})
	case "docker", "local":
		return nil, fmt.Errorf("%w %q: that one is mst's own; berth runs the same config by --runner podman", ErrRunner, name)
	}
	return nil, fmt.Errorf("%w %q; there is podman", ErrRunner, name)
}
