package containerd

import (
	"context"

	"github.com/containerd/containerd/v2/core/leases"
	"github.com/containerd/containerd/v2/core/snapshots"
	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/berth-run/berth/backends"
)

// Address is the engine's socket.
func (b *Backend) Address() string { return b.engine.address }

// Process is one of the engine's, and whether that is a rootless one.
func (b *Backend) Process() (pid int, rootless bool) {
	n := b.network()
	return n.PID, n.Rootless
}

// EndTask ends all that runs, and does nothing else of a removal.
func (b *Backend) EndTask(ctx context.Context, s backends.Shard) error {
	return s.(*shard).endTask(ctx)
}

// Steps are how far CreatePart goes.
type Steps int

const (
	Leased Steps = iota + 1
	Prepared
)

// CreatePart leaves what a berth leaves that is killed in Create.
func (b *Backend) CreatePart(ctx context.Context, c backends.Config, upTo Steps) error {
	img, err := b.load(ctx, c.Image)
	if err != nil {
		return err
	}
	labels := makeLabels(c, img)
	s := &shard{backend: b, id: shardID(c.Name)}
	lease, err := s.claim(ctx, labels)
	if err != nil || upTo < Prepared {
		return err
	}
	ctx = leases.WithLease(ctx, lease.ID)
	rootfs, err := b.rootfs(ctx, img)
	if err == nil {
		_, err = b.SnapshotService(b.snapshotter).Prepare(ctx, s.id, rootfs, snapshots.WithLabels(labels))
	}
	return err
}

// FIFODir is where execs' FIFOs are, as they're seen from here.
func (b *Backend) FIFODir() string { return b.engine.root + b.engine.fifoDir() }

// SetRoot makes berth see other files than the engine at the same paths.
func (b *Backend) SetRoot(dir string) { b.engine.root = dir }

// SnapshotterName is the one in use.
func (b *Backend) SnapshotterName() string { return b.snapshotter }

// SetEditSpec lets a test change each shard's spec on its way.
func (b *Backend) SetEditSpec(edit func(*specs.Spec)) { b.editSpec = edit }

// CgroupsPath is where a shard's cgroup is, "" where it has none of its own.
func (b *Backend) CgroupsPath(id string) string { return b.groups.path(id) }

// FirstIDs are what root of a shard is on the machine, user and group; none where the engine isn't root's.
func (b *Backend) FirstIDs() []uint32 {
	if b.ids == nil {
		return nil
	}
	return []uint32{b.ids.UID, b.ids.GID}
}

// ShimSocket is where the shim of a shard listens, as it's seen from here.
func (b *Backend) ShimSocket(shard string) string { return b.engine.shimSocket(shard) }
