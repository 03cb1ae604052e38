package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/compress/zstd"
)

// blobs is where an OCI image layout's files are.
type blobs struct {
	open  func(name string) (io.ReadCloser, error)
	close func() error
}

func dirBlobs(dir string) (blobs, error) {
	open := func(name string) (io.ReadCloser, error) { return os.Open(filepath.Join(dir, filepath.FromSlash(name))) }
	return blobs{open: open, close: func() error { return nil }}, nil
}

func openArchive(file string) (blobs, error) {
	f, err := os.Open(file)
	if err != nil {
		return blobs{}, err
	}
	return archiveBlobs(f)
}

// archiveBlobs reads files straight out of an uncompressed tar, which it takes over.
func archiveBlobs(f *os.File) (blobs, error) {
	where, err := indexTar(f)
	if err != nil {
		return blobs{}, errors.Join(fmt.Errorf("not a tar of an OCI image layout: %w", err), f.Close())
	}
	open := func(name string) (io.ReadCloser, error) {
		r, ok := where[name]
		if !ok {
			return nil, fmt.Errorf("no %s in the archive: %w", name, fs.ErrNotExist)
		}
		return io.NopCloser(io.NewSectionReader(f, r[0], r[1])), nil
	}
	return blobs{open: open, close: f.Close}, nil
}

// indexTar gives offset and size of each file in a tar.
func indexTar(f *os.File) (map[string][2]int64, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	where := map[string][2]int64{}
	for tr := tar.NewReader(f); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return where, nil
		}
		if err != nil {
			return nil, err
		}
		at, err := f.Seek(0, io.SeekCurrent)
		if err != nil {
			return nil, err
		}
		where[path.Clean(h.Name)] = [2]int64{at, h.Size}
	}
}

// baseImage is a base that has been opened.
type baseImage struct {
	digest string
	config *v1.ConfigFile
	layers []v1.Layer
	close  func() error
}

// readLayout finds the image for linux and arch in a layout.
func readLayout(s blobs, arch string) (*baseImage, error) {
	index, err := readAll(s, "index.json")
	if err != nil {
		return nil, err
	}
	d, err := findManifest(s, index, arch)
	if err != nil {
		return nil, err
	}
	var m v1.Manifest
	if err := readJSON(s, d.Digest, &m); err != nil {
		return nil, err
	}
	var cf v1.ConfigFile
	if err := readJSON(s, m.Config.Digest, &cf); err != nil {
		return nil, err
	}
	if err := rightPlatform(&cf, arch); err != nil {
		return nil, err
	}
	if len(cf.RootFS.DiffIDs) != len(m.Layers) {
		return nil, fmt.Errorf("%d layers and %d diff ids", len(m.Layers), len(cf.RootFS.DiffIDs))
	}
	img := &baseImage{digest: d.Digest.String(), config: &cf, close: s.close}
	for i, l := range m.Layers {
		img.layers = append(img.layers, &layoutLayer{s: s, desc: l, diffID: cf.RootFS.DiffIDs[i]})
	}
	return img, nil
}

func rightPlatform(cf *v1.ConfigFile, arch string) error {
	if cf.OS != "linux" || cf.Architecture != arch {
		return fmt.Errorf("it's for %s/%s, and the engine runs linux/%s", cf.OS, cf.Architecture, arch)
	}
	return nil
}

// findManifest goes down an index to the one image manifest that can be meant.
func findManifest(s blobs, index []byte, arch string) (v1.Descriptor, error) {
	m, err := v1.ParseIndexManifest(bytes.NewReader(index))
	if err != nil {
		return v1.Descriptor{}, err
	}
	var fit []v1.Descriptor
	for _, d := range m.Manifests {
		if p := d.Platform; p == nil || p.OS == "linux" && p.Architecture == arch {
			fit = append(fit, d)
		}
	}
	if len(fit) != 1 {
		return v1.Descriptor{}, fmt.Errorf("%d images for linux/%s in the index, and it must be one", len(fit), arch)
	}
	if !fit[0].MediaType.IsIndex() {
		return fit[0], nil
	}
	inner, err := readBlob(s, fit[0].Digest)
	if err != nil {
		return v1.Descriptor{}, err
	}
	return findManifest(s, inner, arch)
}

// maxJSON bounds an index, manifest or config, in bytes.
const maxJSON = 16 << 20

func readAll(s blobs, name string) ([]byte, error) {
	r, err := s.open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(io.LimitReader(r, maxJSON))
}

func blobName(h v1.Hash) string { return "blobs/" + h.Algorithm + "/" + h.Hex }

// readBlob reads a small blob and checks it.
func readBlob(s blobs, h v1.Hash) ([]byte, error) {
	b, err := readAll(s, blobName(h))
	if err != nil {
		return nil, err
	}
	if h.Algorithm != "sha256" || hashOf(b) != h.Hex {
		return nil, fmt.Errorf("%w: blob %s", ErrIntegrity, h)
	}
	return b, nil
}

func readJSON(s blobs, h v1.Hash, v any) error {
	b, err := readBlob(s, h)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, v)
}

// layoutLayer is a layer of a layout, in whatever compression it has; the engine checks its hash.
type layoutLayer struct {
	s      blobs
	desc   v1.Descriptor
	diffID v1.Hash
}

var _ v1.Layer = (*layoutLayer)(nil)

func (l *layoutLayer) Digest() (v1.Hash, error)            { return l.desc.Digest, nil }
func (l *layoutLayer) DiffID() (v1.Hash, error)            { return l.diffID, nil }
func (l *layoutLayer) Size() (int64, error)                { return l.desc.Size, nil }
func (l *layoutLayer) MediaType() (types.MediaType, error) { return l.desc.MediaType, nil }
func (l *layoutLayer) Compressed() (io.ReadCloser, error)  { return l.s.open(blobName(l.desc.Digest)) }
func (l *layoutLayer) Uncompressed() (io.ReadCloser, error) {
	r, err := l.Compressed()
	if err != nil {
		return nil, err
	}
	switch mt := string(l.desc.MediaType); {
	case strings.HasSuffix(mt, "gzip"):
		return decompressed(r, func() (io.Reader, error) { return gzip.NewReader(r) })
	case strings.HasSuffix(mt, "zstd"):
		return decompressed(r, func() (io.Reader, error) { return zstd.NewReader(r, zstd.WithDecoderConcurrency(1)) })
	}
	return r, nil
}

// decompressed reads through a decompressor and closes what is below it.
func decompressed(below io.Closer, open func() (io.Reader, error)) (io.ReadCloser, error) {
	z, err := open()
	if err != nil {
		return nil, errors.Join(err, below.Close())
	}
	return struct {
		io.Reader
		io.Closer
	}{z, below}, nil
}
