package containerd

import (
	"context"
	"fmt"

	"github.com/containerd/containerd/api/services/tasks/v1"
	"github.com/containerd/errdefs"
	"github.com/containerd/typeurl/v2"
	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/berth-run/berth/backends"
)

// List implements backends.Backend. Labels are compared here: not every key can be said in the engine's
// filters.
func (b *Backend) List(ctx context.Context, labels map[string]string) ([]backends.Listed, error) {
	all, err := b.ContainerService().List(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing shards: %w", explain(err))
	}
	running, err := b.TaskService().List(ctx, &tasks.ListTasksRequest{})
	if err != nil {
		return nil, fmt.Errorf("listing shards: %w", explain(native(err)))
	}
	states := map[string]string{}
	for _, t := range running.Tasks {
		states[t.ID] = state(t.Status)
	}
	var list []backends.Listed
	for _, c := range all {
		l := backends.Listed{ID: c.ID, Name: c.Labels[labelName], State: backends.StateCreated, Created: c.CreatedAt, Labels: shardLabels(c.Labels)}
		if s, ok := states[c.ID]; ok {
			l.State = s
		}
		if l.Carries(labels) {
			list = append(list, l)
		}
	}
	return list, nil
}

// Open implements backends.Backend.
func (b *Backend) Open(ctx context.Context, id string) (backends.Shard, error) {
	c, err := b.ContainerService().Get(ctx, id)
	if errdefs.IsNotFound(err) || errdefs.IsInvalidArgument(err) {
		return nil, fmt.Errorf("shard %s: %w", id, backends.ErrNotFound)
	}
	if err != nil {
		return nil, explain(err)
	}
	var spec specs.Spec
	if err := typeurl.UnmarshalTo(c.Spec, &spec); err != nil || spec.Process == nil {
		return nil, fmt.Errorf("shard %s isn't one of berth's: %w", id, backends.ErrNotFound)
	}
	return &shard{backend: b, id: id, instance: c.Labels[labelInstance], process: spec.Process}, nil
}
