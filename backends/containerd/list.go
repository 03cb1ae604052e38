package containerd

import (
	"context"
	"fmt"
	"slices"

	"github.com/containerd/containerd/api/services/tasks/v1"
	"github.com/containerd/containerd/v2/core/containers"
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
		list = append(list, l)
	}
	begun, err := b.begun(ctx, all)
	if err != nil {
		return nil, fmt.Errorf("listing shards: %w", explain(err))
	}
	list = append(list, begun...)
	return slices.DeleteFunc(list, func(l backends.Listed) bool { return !l.Carries(labels) }), nil
}

// begun are shards that have a lease and no container yet: their maker is at it, or died at it.
func (b *Backend) begun(ctx context.Context, made []containers.Container) ([]backends.Listed, error) {
	all, err := b.LeasesService().List(ctx)
	if err != nil {
		return nil, err
	}
	var list []backends.Listed
	for _, l := range all {
		name, ok := l.Labels[labelName]
		if ok && !slices.ContainsFunc(made, func(c containers.Container) bool { return c.ID == l.ID }) {
			list = append(list, backends.Listed{ID: l.ID, Name: name, State: backends.StateCreated, Created: l.CreatedAt, Labels: shardLabels(l.Labels)})
		}
	}
	return list, nil
}

// claimed gives the labels of the lease that a shard has from the first, nil where there is none.
func (b *Backend) claimed(ctx context.Context, id string) (map[string]string, error) {
	found, err := b.LeasesService().List(ctx, fmt.Sprintf("id==%q", id))
	if err != nil || len(found) == 0 || found[0].Labels[labelName] == "" {
		return nil, explain(err)
	}
	return found[0].Labels, nil
}

// Open implements backends.Backend.
func (b *Backend) Open(ctx context.Context, id string) (backends.Shard, error) {
	c, err := b.ContainerService().Get(ctx, id)
	if errdefs.IsNotFound(err) || errdefs.IsInvalidArgument(err) {
		return b.openBegun(ctx, id)
	}
	if err != nil {
		return nil, explain(err)
	}
	var spec specs.Spec
	if err := typeurl.UnmarshalTo(c.Spec, &spec); err != nil || spec.Process == nil {
		return nil, fmt.Errorf("shard %s isn't one of berth's: %w", id, backends.ErrNotFound)
	}
	return &shard{
		backend: b, id: id, instance: c.Labels[labelInstance], process: spec.Process,
		networked: c.Labels[labelNetwork] == backends.NetworkEngine,
	}, nil
}

// openBegun opens one that was never whole: all that can be done with it is to remove it.
func (b *Backend) openBegun(ctx context.Context, id string) (backends.Shard, error) {
	labels, err := b.claimed(ctx, id)
	if err != nil {
		return nil, err
	}
	if labels == nil {
		return nil, fmt.Errorf("shard %s: %w", id, backends.ErrNotFound)
	}
	return &shard{backend: b, id: id, instance: labels[labelInstance], process: &specs.Process{}}, nil
}
