package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/berth-run/berth/backends"
)

// Base is an image of the user's, to build on instead of Debian's root file system. It's always
// labelled anew and gets the app, the user and the worker on top: an engine that reads the seccomp
// profile from the image must never read someone else's.
type Base struct {
	// Name is what the user called it.
	Name string
	// Digest stands for its content: the manifest's or the config's.
	Digest string

	labels map[string]string
	open   func(ctx context.Context, c *cache) (*baseImage, error)
}

// Exporter is a backend that can give back an image that it has, as a tar of an OCI image layout
// with that one image in its index. backends.ErrNotFound when it hasn't.
type Exporter interface {
	ExportImage(ctx context.Context, ref string, w io.Writer) error
}

// OpenBase finds a base image for an architecture (GOARCH). Its spec is
//
//	oci:DIR               an OCI image layout
//	oci-archive:FILE      a tar of one, as from `podman save --format oci-archive`
//	docker-archive:FILE   as from `docker save`
//	REF                   an image that the engine b has; b must be an Exporter
func OpenBase(ctx context.Context, spec, arch string, b backends.Backend) (*Base, error) {
	kind, path, _ := strings.Cut(spec, ":")
	switch kind {
	case "oci":
		return layoutBase(spec, arch, func() (blobs, error) { return dirBlobs(path) })
	case "oci-archive":
		return layoutBase(spec, arch, func() (blobs, error) { return openArchive(path) })
	case "docker-archive":
		return dockerBase(spec, path, arch)
	}
	return engineBase(ctx, spec, arch, b)
}

func layoutBase(name, arch string, store func() (blobs, error)) (*Base, error) {
	open := func(context.Context, *cache) (*baseImage, error) { return openLayout(name, arch, store) }
	img, err := open(context.Background(), nil)
	if err != nil {
		return nil, err
	}
	b := &Base{Name: name, Digest: img.digest, labels: img.config.Config.Labels, open: open}
	return b, img.close()
}

// openLayout reads the image of a layout, which stays open with it.
func openLayout(name, arch string, store func() (blobs, error)) (*baseImage, error) {
	s, err := store()
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrBase, name, err)
	}
	img, err := readLayout(s, arch)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %s: %w", ErrBase, name, err), s.close())
	}
	return img, nil
}

// engineBase exports the image to a file without a name, which goes when it is closed.
func engineBase(ctx context.Context, ref, arch string, b backends.Backend) (*Base, error) {
	if b == nil {
		return nil, fmt.Errorf("%w: %s: no engine to ask for it", ErrBase, ref)
	}
	has, err := b.Image(ctx, ref)
	if err != nil {
		return nil, fmt.Errorf("%w: %s isn't in the engine; pull or load it there, or name a file with oci-archive:FILE: %w", ErrBase, ref, err)
	}
	ex, ok := b.(Exporter)
	if !ok {
		return nil, fmt.Errorf("%w: %s: this engine gives no image back; save it, and use oci-archive:FILE", ErrBase, ref)
	}
	open := func(ctx context.Context, c *cache) (*baseImage, error) {
		f, err := os.CreateTemp(c.path("tmp"), "export-")
		if err != nil {
			return nil, storageError(c.dir, err)
		}
		os.Remove(f.Name())
		if err := ex.ExportImage(ctx, ref, ctxWriter{ctx, f}); err != nil {
			f.Close()
			return nil, fmt.Errorf("%w: %s: %w", ErrBase, ref, storageError(c.dir, err))
		}
		return openLayout(ref, arch, func() (blobs, error) { return archiveBlobs(f) })
	}
	return &Base{Name: ref, Digest: has.Digest, labels: has.Labels, open: open}, nil
}

func dockerBase(name, path, arch string) (*Base, error) {
	img, err := tarball.ImageFromPath(filepath.Clean(path), nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrBase, name, err)
	}
	cf, err := img.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrBase, name, err)
	}
	digest, err := img.ConfigName()
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrBase, name, err)
	}
	if err := rightPlatform(cf, arch); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrBase, name, err)
	}
	open := func(context.Context, *cache) (*baseImage, error) {
		layers, err := plainLayers(img)
		return &baseImage{config: cf, layers: layers, close: func() error { return nil }}, err
	}
	return &Base{Name: name, Digest: digest.String(), labels: cf.Config.Labels, open: open}, nil
}

// plainLayers gives an image's layers uncompressed.
func plainLayers(img v1.Image) ([]v1.Layer, error) {
	from, err := img.Layers()
	if err != nil {
		return nil, err
	}
	var layers []v1.Layer
	for _, l := range from {
		diffID, err := l.DiffID()
		if err != nil {
			return nil, err
		}
		r, err := l.Uncompressed()
		if err != nil {
			return nil, err
		}
		size, err := io.Copy(io.Discard, r)
		r.Close()
		if err != nil {
			return nil, err
		}
		layers = append(layers, &layer{hash: diffID, size: size, open: l.Uncompressed})
	}
	return layers, nil
}

// baseHasApp tells whether the base was made by berth with the same app, and no Debian package's files
// come to lie above that.
func (b *build) baseHasApp() bool {
	return b.plan.deb == nil && b.plan.Base != nil && b.plan.Base.labels[LabelApp(b.plan.client.app.name)] == b.plan.Version
}
