package containerd

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	runcoptions "github.com/containerd/containerd/api/types/runc/options"
	"github.com/containerd/containerd/v2/core/containers"
	"github.com/containerd/containerd/v2/core/leases"
	"github.com/containerd/containerd/v2/core/snapshots"
	"github.com/containerd/errdefs"
	"github.com/containerd/typeurl/v2"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/oci"
)

const (
	// createTimeout bounds a create that its caller has given up: it's let finish, so that what it made
	// can be removed.
	createTimeout = time.Minute
	// leaseTime is for what a create left half done when its maker died, and nobody swept: then the engine's
	// garbage collector takes it. A container that was made holds its snapshot by itself.
	leaseTime = 10 * time.Minute
)

// shardID is a container's id. A name is longer, and has more signs, than the engine takes; this way its
// uniqueness is still the engine's to keep.
func shardID(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:16])
}

// Create implements backends.Backend.
func (b *Backend) Create(ctx context.Context, c backends.Config) (backends.Shard, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	files, err := b.engineFiles(c)
	if err != nil {
		return nil, fmt.Errorf("shard %s: %w", c.Name, err)
	}
	id := shardID(c.Name)
	spec, err := b.adapt(c, id)
	if err != nil {
		return nil, err
	}
	release, err := b.slots.take(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	img, err := b.load(ctx, c.Image)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, explain(err)
	}
	labels := makeLabels(c, img)
	if b.editSpec != nil {
		b.editSpec(spec)
	}
	packed, err := typeurl.MarshalAny(spec)
	if err != nil {
		return nil, err
	}
	s := &shard{backend: b, id: id, instance: labels[labelInstance], process: spec.Process, networked: c.Network == backends.NetworkEngine}
	return s, s.create(ctx, img, files, containers.Container{
		ID: id, Labels: labels, Image: c.Image, Spec: packed, Snapshotter: b.snapshotter, SnapshotKey: id,
		Runtime: containers.RuntimeInfo{Name: runtimeName, Options: b.runtimeOptions()},
	})
}

// create makes the lease, the file system and the container, or nothing. The lease is first, with the
// shard's labels: of a create whose maker died, it is what a sweep finds.
func (s *shard) create(caller context.Context, img image, files engineFiles, c containers.Container) error {
	b := s.backend
	lease, err := s.claim(caller, c.Labels)
	if err != nil {
		return err
	}
	rootfs, err := b.rootfs(leases.WithLease(caller, lease.ID), img)
	if err == nil {
		rootfs, err = b.furnish(leases.WithLease(caller, lease.ID), img, rootfs, files)
	}
	if err == nil {
		ctx, cancel := unhurried(caller)
		defer cancel()
		err = b.createLeased(leases.WithLease(ctx, lease.ID), c, rootfs)
	}
	if cause := context.Cause(caller); cause != nil {
		err = cause
	}
	if err == nil {
		return nil
	}
	ctx, cancel := unhurried(caller)
	defer cancel()
	if errdefs.IsAlreadyExists(err) { // its lease has expired
		_ = b.LeasesService().Delete(ctx, lease)
		return fmt.Errorf("shard %s: %w: %w", c.Labels[labelName], backends.ErrExists, err)
	}
	if rerr := s.remove(ctx); rerr != nil {
		return fmt.Errorf("creating shard %s: %w (and it's left on the engine: %w)", c.Labels[labelName], err, rerr)
	}
	return fmt.Errorf("creating shard %s: %w", c.Labels[labelName], explain(err))
}

// unhurried isn't cancelled half-way: a request that was sent may or may not have taken effect.
func unhurried(caller context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(caller), createTimeout)
}

// claim makes the lease, which is where the name's uniqueness is kept.
func (s *shard) claim(caller context.Context, labels map[string]string) (leases.Lease, error) {
	ctx, cancel := unhurried(caller)
	defer cancel()
	lease, err := s.backend.LeasesService().Create(ctx, leases.WithID(s.id), leases.WithLabels(labels), leases.WithExpiration(leaseTime))
	switch {
	case errdefs.IsAlreadyExists(err):
		return lease, fmt.Errorf("shard %s: %w: %w", labels[labelName], backends.ErrExists, err)
	case err != nil:
		return lease, fmt.Errorf("creating shard %s: %w", labels[labelName], explain(err))
	}
	return lease, nil
}

func (b *Backend) createLeased(ctx context.Context, c containers.Container, rootfs string) error {
	_, err := b.SnapshotService(b.snapshotter).Prepare(ctx, c.SnapshotKey, rootfs, snapshots.WithLabels(c.Labels))
	if err != nil {
		return err
	}
	_, err = b.ContainerService().Create(ctx, c)
	return err
}

// runtimeOptions say who makes the cgroup, and make a process own the ends of its pipes, so that it can open /dev/stdout again.
func (b *Backend) runtimeOptions() typeurl.Any {
	o := &runcoptions.Options{IoUid: oci.UID, IoGid: oci.GID, SystemdCgroup: b.groups.manager != ""}
	if b.ids != nil {
		o.IoUid, o.IoGid = b.ids.UID+oci.UID, b.ids.GID+oci.GID
	}
	a, err := typeurl.MarshalAny(o)
	if err != nil {
		panic(fmt.Sprintf("containerd: runtime options: %v", err)) // a registered type
	}
	return a
}
