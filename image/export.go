package image

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/berth-run/berth/backends"
)

// Import gives a built image to an engine, under its Ref, unless the engine has that very image
// already.
func Import(ctx context.Context, b backends.Backend, r *Result) (backends.Image, error) {
	if had, err := b.Image(ctx, r.Ref); err == nil && had.Digest == r.Digest {
		r.report.emit(Event{Step: StepImport, Detail: r.Ref, Cached: true, Done: true})
		return had, nil
	}
	pr, pw := io.Pipe()
	total, err := r.size()
	if err != nil {
		return backends.Image{}, err
	}
	go func() { pw.CloseWithError(r.WriteArchive(r.report.meter(ctxWriter{ctx, pw}, StepImport, total))) }()
	got, err := b.ImportImage(ctx, r.Ref, pr)
	pr.CloseWithError(io.ErrClosedPipe) // ends the writer where the engine stopped reading
	if err != nil {
		return backends.Image{}, fmt.Errorf("import %s: %w", r.Ref, err)
	}
	if got.Digest != r.Digest {
		return backends.Image{}, fmt.Errorf("%w: the engine has %s under %s, and %s was built", ErrIntegrity, got.Digest, r.Ref, r.Digest)
	}
	r.report.emit(Event{Step: StepImport, Detail: r.Ref, Bytes: total, Total: total, Done: true})
	return got, nil
}

// size is the sum of the blobs, which is the archive's but for tar's headers.
func (r *Result) size() (total int64, err error) {
	m, err := r.Image.Manifest()
	if err != nil {
		return 0, err
	}
	for _, l := range m.Layers {
		total += l.Size
	}
	return total + m.Config.Size, nil
}

// WriteArchive writes the image as a tar of an OCI image layout, the form that engines import. The
// layers are read from the cache as they go by; nothing is copied to disk.
func (r *Result) WriteArchive(w io.Writer) error {
	tw := tar.NewWriter(w)
	manifest, err := r.Image.RawManifest()
	if err != nil {
		return err
	}
	index, err := r.index(manifest)
	if err != nil {
		return err
	}
	config, err := r.Image.RawConfigFile()
	if err != nil {
		return err
	}
	for _, f := range []struct {
		name string
		data []byte
	}{
		{"oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`)},
		{"index.json", index},
		{"blobs/sha256/" + hashOf(manifest), manifest},
		{"blobs/sha256/" + hashOf(config), config},
	} {
		if err := writeBlob(tw, f.name, int64(len(f.data)), bytes.NewReader(f.data)); err != nil {
			return err
		}
	}
	if err := r.writeLayers(tw); err != nil {
		return err
	}
	return tw.Close()
}

// index names the image; engines take its name from the annotations.
func (r *Result) index(manifest []byte) ([]byte, error) {
	return json.Marshal(v1.IndexManifest{
		SchemaVersion: 2,
		MediaType:     types.OCIImageIndex,
		Manifests: []v1.Descriptor{{
			MediaType: types.OCIManifestSchema1,
			Size:      int64(len(manifest)),
			Digest:    v1.Hash{Algorithm: "sha256", Hex: hashOf(manifest)},
			Annotations: map[string]string{
				"org.opencontainers.image.ref.name": r.Ref,
				"io.containerd.image.name":          r.Ref,
			},
		}},
	})
}

func (r *Result) writeLayers(tw *tar.Writer) error {
	layers, err := r.Image.Layers()
	if err != nil {
		return err
	}
	written := map[v1.Hash]bool{}
	for _, l := range layers {
		d, err := l.Digest()
		if err != nil {
			return err
		}
		if written[d] {
			continue
		}
		written[d] = true
		if err := writeLayer(tw, d, l); err != nil {
			return fmt.Errorf("layer %s: %w", d, err)
		}
	}
	return nil
}

func writeLayer(tw *tar.Writer, d v1.Hash, l v1.Layer) error {
	size, err := l.Size()
	if err != nil {
		return err
	}
	body, err := l.Compressed()
	if err != nil {
		return err
	}
	defer body.Close()
	return writeBlob(tw, "blobs/"+d.Algorithm+"/"+d.Hex, size, body)
}

func writeBlob(tw *tar.Writer, name string, size int64, body io.Reader) error {
	if err := tw.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: size}); err != nil {
		return err
	}
	_, err := io.CopyBuffer(struct{ io.Writer }{tw}, struct{ io.Reader }{body}, make([]byte, 1<<20))
	return err
}
