package podman

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"path"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// A load that fails late, with a full disk say, leaves the layers that it had unpacked by then. They are no
// image's, so nothing that Podman's API or its user can say removes them. But Podman needs no blob of a layer
// that it has: an image that has just these layers is loaded without them, and removed with them.

// dropTime bounds what follows a load that has failed.
const dropTime = time.Minute

// dropLayers takes away what a load of a layout has left. It's best effort: what can't be removed is used by
// the next load of that image.
func (b *Backend) dropLayers(ctx context.Context, docs documents) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropTime)
	defer cancel()
	layers, config, ok := docs.image()
	if !ok {
		return
	}
	for n := len(layers); n > 0 && ctx.Err() == nil; n-- {
		if b.dropImage(ctx, layers[:n], config.RootFS.DiffIDs[:n]) {
			return
		}
	}
}

// dropImage makes and removes an image of layers, and tells whether Podman has them all.
func (b *Backend) dropImage(ctx context.Context, layers []ocispec.Descriptor, diffIDs []digest.Digest) bool {
	ref := "localhost/berth-unfinished:" + strings.ToLower(rand.Text())
	layout, err := bare(layers, diffIDs)
	if err != nil {
		return false
	}
	var named bytes.Buffer
	if err := nameLayout(&named, bytes.NewReader(layout), ref, nil); err != nil {
		return false
	}
	if b.api.post(ctx, "/images/load", nil, io.Reader(&named), nil) != nil {
		return false
	}
	return b.RemoveImage(ctx, ref) == nil
}

// bare is an OCI image layout without its layers' blobs.
func bare(layers []ocispec.Descriptor, diffIDs []digest.Digest) ([]byte, error) {
	config := ocispec.Image{
		Platform: ocispec.Platform{OS: "linux", Architecture: "unknown"},
		RootFS:   ocispec.RootFS{Type: "layers", DiffIDs: diffIDs},
	}
	files := map[string]any{ocispec.ImageLayoutFile: ocispec.ImageLayout{Version: ocispec.ImageLayoutVersion}}
	blob := func(mediaType string, v any) ocispec.Descriptor {
		body, _ := json.Marshal(v) // plain structs
		d := ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(body), Size: int64(len(body))}
		files[blobPrefix+d.Digest.Encoded()] = v
		return d
	}
	version := specs.Versioned{SchemaVersion: 2}
	manifest := blob(ocispec.MediaTypeImageManifest, ocispec.Manifest{
		Versioned: version, MediaType: ocispec.MediaTypeImageManifest, Config: blob(ocispec.MediaTypeImageConfig, config), Layers: layers,
	})
	files[indexFile] = ocispec.Index{Versioned: version, Manifests: []ocispec.Descriptor{manifest}}
	return packed(files)
}

func packed(files map[string]any) ([]byte, error) {
	var buf bytes.Buffer
	tw := tar.NewWriter(&buf)
	for name, v := range files {
		body, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		h := &tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(body))}
		if err := copyEntry(tw, bytes.NewReader(body), h); err != nil {
			return nil, err
		}
	}
	return buf.Bytes(), tw.Close()
}

const blobPrefix = "blobs/sha256/"

// documents are a layout's small files, by their names in it: its index, manifest and config are among them.
type documents map[string][]byte

// maxDocument is larger than these are.
const maxDocument = 1 << 20

// keep gives the reader of an entry that is to be kept if it's small. A nil documents keeps none.
func (d documents) keep(r io.Reader, h *tar.Header) io.Reader {
	if d == nil || h.Typeflag != tar.TypeReg || h.Size > maxDocument {
		return r
	}
	return io.TeeReader(r, document{d, path.Clean(h.Name)})
}

// document is one of them in the making.
type document struct {
	of   documents
	name string
}

func (d document) Write(p []byte) (int, error) {
	d.of[d.name] = append(d.of[d.name], p...)
	return len(p), nil
}

// image gives the layers and the config of the one image that a layout holds; false if it isn't whole.
func (d documents) image() (layers []ocispec.Descriptor, config ocispec.Image, ok bool) {
	var index ocispec.Index
	var manifest ocispec.Manifest
	if json.Unmarshal(d[indexFile], &index) != nil || len(index.Manifests) != 1 {
		return nil, config, false
	}
	blob := func(of ocispec.Descriptor, v any) bool {
		return of.Digest.Validate() == nil && json.Unmarshal(d[blobPrefix+of.Digest.Encoded()], v) == nil
	}
	ok = blob(index.Manifests[0], &manifest) && blob(manifest.Config, &config) && len(config.RootFS.DiffIDs) == len(manifest.Layers)
	return manifest.Layers, config, ok
}
