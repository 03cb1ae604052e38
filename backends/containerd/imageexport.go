package containerd

import (
	"context"
	"fmt"
	"io"
	"runtime"

	"github.com/containerd/containerd/v2/core/images"
	"github.com/containerd/containerd/v2/core/images/archive"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// ExportImage writes an image as a tar of an OCI image layout, for package image to build upon: of one for
// many platforms, that for this one.
func (b *Backend) ExportImage(ctx context.Context, ref string, w io.Writer) error {
	img, err := b.load(ctx, ref)
	if err != nil {
		return err
	}
	err = archive.Export(ctx, b.ContentStore(), w, archive.WithManifest(img.target), archive.WithSkipDockerManifest())
	if err != nil {
		return fmt.Errorf("exporting image %s: %w", ref, explain(err))
	}
	return nil
}

// manifest finds the one for this platform where a name stands for several, as for what was pulled.
func (b *Backend) manifest(ctx context.Context, target ocispec.Descriptor) (ocispec.Descriptor, error) {
	if !images.IsIndexType(target.MediaType) {
		return target, nil
	}
	var index ocispec.Index
	if err := b.readJSON(ctx, target, &index); err != nil {
		return target, err
	}
	for _, d := range index.Manifests {
		p := d.Platform
		if images.IsManifestType(d.MediaType) && (p == nil || p.OS == "linux" && p.Architecture == runtime.GOARCH) {
			return d, nil
		}
	}
	return target, invalid("it's for %d platforms, and linux/%s isn't one", len(index.Manifests), runtime.GOARCH)
}
