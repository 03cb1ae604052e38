package containerd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/containerd/v2/core/images"
	"github.com/containerd/errdefs"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/berth-run/berth/backends"
)

// image is what a name stands for.
type image struct {
	target   ocispec.Descriptor
	manifest ocispec.Manifest
	config   digest.Digest
	diffIDs  []digest.Digest
	labels   map[string]string
}

// Image implements backends.Backend.
func (b *Backend) Image(ctx context.Context, ref string) (backends.Image, error) {
	img, err := b.load(ctx, ref)
	if err != nil {
		return backends.Image{}, err
	}
	return backends.Image{Ref: ref, Digest: img.config.String(), Labels: img.labels}, nil
}

// load reads an image by its name.
func (b *Backend) load(ctx context.Context, ref string) (image, error) {
	if ref == "" {
		return image{}, invalid("an image reference is empty")
	}
	record, err := b.ImageService().Get(ctx, ref)
	if errdefs.IsNotFound(err) {
		return image{}, fmt.Errorf("image %s: %w in containerd's namespace %s", ref, backends.ErrNotFound, Namespace)
	}
	if err != nil {
		return image{}, explain(err)
	}
	target, err := b.manifest(ctx, record.Target)
	if err != nil {
		return image{}, fmt.Errorf("image %s: %w", ref, err)
	}
	img, err := b.read(ctx, target)
	if err != nil {
		return image{}, fmt.Errorf("image %s: %w", ref, err)
	}
	return img, nil
}

// read reads an image by its manifest.
func (b *Backend) read(ctx context.Context, target ocispec.Descriptor) (image, error) {
	img := image{target: target}
	if err := b.readJSON(ctx, target, &img.manifest); err != nil {
		return image{}, err
	}
	img.config = img.manifest.Config.Digest
	var config ocispec.Image
	if err := b.readJSON(ctx, img.manifest.Config, &config); err != nil {
		return image{}, err
	}
	img.diffIDs, img.labels = config.RootFS.DiffIDs, config.Config.Labels
	if len(img.diffIDs) == 0 || len(img.diffIDs) != len(img.manifest.Layers) {
		return image{}, invalid("manifest %s names %d layers, its config %d", target.Digest, len(img.manifest.Layers), len(img.diffIDs))
	}
	return img, nil
}

// maxJSON bounds a manifest and a config.
const maxJSON = 8 << 20

func (b *Backend) readJSON(ctx context.Context, d ocispec.Descriptor, v any) error {
	if d.Size > maxJSON {
		return invalid("%s is over %d bytes", d.Digest, maxJSON)
	}
	if err := d.Digest.Validate(); err != nil {
		return invalid("%q is no digest", d.Digest)
	}
	p, err := content.ReadBlob(ctx, b.ContentStore(), d)
	if errdefs.IsNotFound(err) {
		return invalid("blob %s is missing", d.Digest)
	}
	if err != nil {
		return explain(err)
	}
	if err := json.Unmarshal(p, v); err != nil {
		return invalid("%s: %v", d.Digest, err)
	}
	return nil
}

// ImportImage implements backends.Backend. Until the name is on it, only a lease holds what was read. The
// file system is made ready here too, so that no shard waits for it.
func (b *Backend) ImportImage(ctx context.Context, ref string, layout io.Reader) (backends.Image, error) {
	if ref == "" {
		return backends.Image{}, invalid("an image reference is empty")
	}
	img, err := b.importLeased(ctx, ref, layout)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return backends.Image{}, fmt.Errorf("importing image %s: %w", ref, err)
	}
	return backends.Image{Ref: ref, Digest: img.config.String(), Labels: img.labels}, nil
}

func (b *Backend) importLeased(ctx context.Context, ref string, layout io.Reader) (_ image, err error) {
	if err := b.RemoveStale(ctx); err != nil {
		return image{}, err
	}
	ctx, done, err := b.importLease(ctx, ref)
	if err != nil {
		return image{}, err
	}
	// With the lease goes, too, the image that had the name.
	defer func() {
		done()
		if err != nil {
			b.collectAgain(ctx)
		}
	}()
	target, err := b.readLayout(ctx, layout)
	if err != nil {
		return image{}, err
	}
	img, err := b.read(ctx, target)
	if err != nil {
		return image{}, err
	}
	if err := b.holdChildren(ctx, img); err != nil {
		return image{}, err
	}
	if _, err := b.rootfs(ctx, img); err != nil {
		return image{}, explain(err)
	}
	return img, b.name(ctx, ref, target)
}

// holdChildren keeps the blobs that a manifest names for as long as it is there.
func (b *Backend) holdChildren(ctx context.Context, img image) error {
	store := b.ContentStore()
	for _, d := range img.manifest.Layers {
		if _, err := store.Info(ctx, d.Digest); errdefs.IsNotFound(err) {
			return invalid("blob %s is missing", d.Digest)
		} else if err != nil {
			return explain(err)
		}
	}
	_, err := images.SetChildrenLabels(store, images.ChildrenHandler(store))(ctx, img.target)
	return explain(err)
}

func (b *Backend) name(ctx context.Context, ref string, target ocispec.Descriptor) error {
	record := images.Image{Name: ref, Target: target}
	_, err := b.ImageService().Create(ctx, record)
	if errdefs.IsAlreadyExists(err) {
		_, err = b.ImageService().Update(ctx, record, "target")
	}
	return explain(err)
}

// RemoveImage implements backends.Backend.
func (b *Backend) RemoveImage(ctx context.Context, ref string) error {
	img, err := b.load(ctx, ref)
	if err != nil && !errors.Is(err, backends.ErrInvalid) { // a broken one can go
		return err
	}
	used, err := b.used(ctx, img.config, ref)
	if err != nil {
		return err
	}
	if used != "" {
		return fmt.Errorf("image %s: %w: shard %s uses it", ref, backends.ErrState, used)
	}
	err = b.ImageService().Delete(ctx, ref, images.SynchronousDelete())
	if errdefs.IsNotFound(err) {
		return fmt.Errorf("image %s: %w", ref, backends.ErrNotFound)
	}
	return explain(err)
}

// used names a shard that has an image by its last name, "" if none does.
func (b *Backend) used(ctx context.Context, config digest.Digest, ref string) (string, error) {
	all, err := b.ImageService().List(ctx)
	if err != nil {
		return "", explain(err)
	}
	for _, other := range all {
		target, err := b.manifest(ctx, other.Target)
		if err != nil {
			continue
		}
		if img, err := b.read(ctx, target); err == nil && other.Name != ref && img.config == config {
			return "", nil
		}
	}
	found, err := b.ContainerService().List(ctx, fmt.Sprintf("labels.%q==%q", labelDigest, config.String()))
	if err != nil || len(found) == 0 {
		return "", explain(err)
	}
	return found[0].Labels[labelName], nil
}
