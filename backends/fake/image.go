package fake

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/berth-run/berth/backends"
)

// maxBlob is what is kept of a blob: enough for an index, a manifest or a config. Layers are only
// hashed.
const maxBlob = 4 << 20

// Image implements backends.Backend.
func (b *Backend) Image(_ context.Context, ref string) (backends.Image, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	img, ok := b.images[ref]
	if !ok {
		return backends.Image{}, fmt.Errorf("image %s: %w", ref, backends.ErrNotFound)
	}
	return img, nil
}

// ImportImage implements backends.Backend: it checks the layout as an engine does and keeps the
// config's digest and labels.
func (b *Backend) ImportImage(_ context.Context, ref string, layout io.Reader) (backends.Image, error) {
	files, err := readLayout(layout)
	if err != nil {
		return backends.Image{}, fmt.Errorf("importing image %s: %w", ref, err)
	}
	img, err := files.image()
	if err != nil {
		return backends.Image{}, fmt.Errorf("importing image %s: %w", ref, err)
	}
	img.Ref = ref
	b.mu.Lock()
	defer b.mu.Unlock()
	b.images[ref] = img
	return img, nil
}

// RemoveImage implements backends.Backend.
func (b *Backend) RemoveImage(_ context.Context, ref string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	img, ok := b.images[ref]
	if !ok {
		return fmt.Errorf("image %s: %w", ref, backends.ErrNotFound)
	}
	for _, s := range b.shards {
		if s.digest == img.Digest && b.names(img.Digest) == 1 {
			return fmt.Errorf("image %s is used by shard %s: %w", ref, s.id, backends.ErrState)
		}
	}
	delete(b.images, ref)
	return nil
}

// names counts an image's; b.mu is held.
func (b *Backend) names(digest string) int {
	n := 0
	for _, img := range b.images {
		if img.Digest == digest {
			n++
		}
	}
	return n
}

// layoutFiles are a layout's small files by name.
type layoutFiles map[string][]byte

func readLayout(r io.Reader) (layoutFiles, error) {
	files := layoutFiles{}
	tr := tar.NewReader(r)
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, broken(err)
		}
		name := path.Clean(h.Name)
		sum := sha256.New()
		kept, err := io.ReadAll(io.LimitReader(io.TeeReader(tr, sum), maxBlob))
		if err == nil {
			_, err = io.Copy(sum, tr)
		}
		if err != nil {
			return nil, broken(err)
		}
		digest, blob := strings.CutPrefix(name, "blobs/sha256/")
		if blob && h.Typeflag == tar.TypeReg && hex.EncodeToString(sum.Sum(nil)) != digest {
			return nil, fmt.Errorf("blob %s isn't its digest's: %w", digest, backends.ErrInvalid)
		}
		files[name] = kept
	}
}

func broken(err error) error {
	if errors.Is(err, tar.ErrHeader) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: %w", backends.ErrInvalid, err)
	}
	return err
}

type descriptor struct {
	Digest string `json:"digest"`
}

// image follows the index to the config.
func (f layoutFiles) image() (backends.Image, error) {
	var index struct {
		Manifests []descriptor `json:"manifests"`
	}
	if err := f.decode("index.json", &index); err != nil {
		return backends.Image{}, err
	}
	if n := len(index.Manifests); n != 1 {
		return backends.Image{}, fmt.Errorf("index.json names %d images, not one: %w", n, backends.ErrInvalid)
	}
	var manifest struct {
		Config descriptor   `json:"config"`
		Layers []descriptor `json:"layers"`
	}
	if err := f.decode(blobPath(index.Manifests[0]), &manifest); err != nil {
		return backends.Image{}, err
	}
	for _, l := range manifest.Layers {
		if _, ok := f[blobPath(l)]; !ok {
			return backends.Image{}, fmt.Errorf("layer %s isn't there: %w", l.Digest, backends.ErrInvalid)
		}
	}
	var config struct {
		Config struct{ Labels map[string]string } `json:"config"`
	}
	if err := f.decode(blobPath(manifest.Config), &config); err != nil {
		return backends.Image{}, err
	}
	return backends.Image{Digest: manifest.Config.Digest, Labels: config.Config.Labels}, nil
}

func (f layoutFiles) decode(name string, v any) error {
	b, ok := f[name]
	if !ok {
		return fmt.Errorf("%s isn't in the layout: %w", name, backends.ErrInvalid)
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%s: %w: %w", name, backends.ErrInvalid, err)
	}
	return nil
}

func blobPath(d descriptor) string { return "blobs/" + strings.ReplaceAll(d.Digest, ":", "/") }

func digestOf(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}
