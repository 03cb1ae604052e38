package containerd

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"

	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/errdefs"
	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/identity"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// rootfs gives the snapshot of an image's file system, which it makes if it isn't there: for one image
// and one range of ids there is one, layer upon layer, whatever number of shards has it. What isn't done
// yet only the lease of ctx holds.
func (b *Backend) rootfs(ctx context.Context, img image) (string, error) {
	top := b.snapshotName(img.diffIDs)
	sn := b.SnapshotService(b.snapshotter)
	if _, err := sn.Stat(ctx, top); err == nil || !errdefs.IsNotFound(err) {
		return top, err
	}
	var parent string
	for i := range img.diffIDs {
		name := b.snapshotName(img.diffIDs[:i+1])
		if err := b.unpack(ctx, name, parent, img.manifest.Layers[i]); err != nil {
			return "", fmt.Errorf("layer %s: %w", img.manifest.Layers[i].Digest, err)
		}
		parent = name
	}
	return top, b.hold(ctx, img.config, top, "image")
}

// snapshotName stands for layers and for the ids their files have.
func (b *Backend) snapshotName(diffIDs []digest.Digest) string {
	chain := identity.ChainID(diffIDs).String()
	if b.ids == nil {
		return chain
	}
	return fmt.Sprintf("%s@%d:%d", chain, b.ids.UID, b.ids.GID)
}

// unpack makes one layer's snapshot upon its parent's, unless somebody else does.
func (b *Backend) unpack(ctx context.Context, name, parent string, layer ocispec.Descriptor) error {
	sn := b.SnapshotService(b.snapshotter)
	if _, err := sn.Stat(ctx, name); err == nil || !errdefs.IsNotFound(err) {
		return err
	}
	if b.ids != nil {
		var err error
		if layer, err = b.shifted(ctx, layer); err != nil {
			return err
		}
	}
	return b.commit(ctx, name, parent, layer)
}

// commit makes a snapshot of a layer upon its parent's, unless somebody else does.
func (b *Backend) commit(ctx context.Context, name, parent string, layer ocispec.Descriptor) error {
	sn := b.SnapshotService(b.snapshotter)
	key := name + " " + rand.Text()
	mounts, err := sn.Prepare(ctx, key, parent)
	if err == nil {
		_, err = b.DiffService().Apply(ctx, layer, mounts)
	}
	if err == nil {
		err = sn.Commit(ctx, name, key)
	}
	if err != nil {
		_ = sn.Remove(context.WithoutCancel(ctx), key)
	}
	return ignore(err, errdefs.IsAlreadyExists)
}

// shifted writes a layer with its files' ids in the range. Only the lease of ctx holds it: what comes of
// it is a snapshot.
func (b *Backend) shifted(ctx context.Context, layer ocispec.Descriptor) (ocispec.Descriptor, error) {
	store := b.ContentStore()
	ra, err := store.ReaderAt(ctx, layer)
	if err != nil {
		return layer, err
	}
	defer ra.Close()
	w, err := content.OpenWriter(ctx, store, content.WithRef("berth-shift-"+rand.Text()))
	if err != nil {
		return layer, err
	}
	defer w.Close()
	n := &counter{w: w}
	if err := b.ids.shift(n, content.NewReader(ra), layer.MediaType); err != nil {
		return layer, err
	}
	sum := w.Digest()
	if err := ignore(w.Commit(ctx, n.n, sum), errdefs.IsAlreadyExists); err != nil {
		return layer, err
	}
	return ocispec.Descriptor{MediaType: ocispec.MediaTypeImageLayer, Digest: sum, Size: n.n}, nil
}

// hold keeps a snapshot for as long as an image has that config, or until there's another for the same use.
func (b *Backend) hold(ctx context.Context, config digest.Digest, snapshot, use string) error {
	label := "containerd.io/gc.ref.snapshot." + b.snapshotter + "/" + use
	if b.ids != nil {
		label += fmt.Sprintf("-%d.%d", b.ids.UID, b.ids.GID)
	}
	_, err := b.ContentStore().Update(ctx, content.Info{Digest: config, Labels: map[string]string{label: snapshot}}, "labels."+label)
	return err
}

type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}
