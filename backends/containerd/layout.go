package containerd

import (
	"archive/tar"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/errdefs"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

const blobPrefix = "blobs/sha256/"

// readLayout takes every blob of an OCI image layout (a tar stream) into the content store, each checked
// against its name, and gives the one manifest of its index.
func (b *Backend) readLayout(ctx context.Context, layout io.Reader) (ocispec.Descriptor, error) {
	var index *ocispec.Index
	tr := tar.NewReader(layout)
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return ocispec.Descriptor{}, badLayout(err)
		}
		switch name := path.Clean(h.Name); {
		case h.Typeflag != tar.TypeReg:
		case name == ocispec.ImageIndexFile:
			index, err = readIndex(tr)
		case strings.HasPrefix(name, blobPrefix):
			err = b.readBlob(ctx, digest.NewDigestFromEncoded(digest.SHA256, name[len(blobPrefix):]), h.Size, tr)
		}
		if err != nil {
			return ocispec.Descriptor{}, err
		}
	}
	switch {
	case index == nil:
		return ocispec.Descriptor{}, invalid("it has no %s, so it's no OCI image layout", ocispec.ImageIndexFile)
	case len(index.Manifests) != 1:
		return ocispec.Descriptor{}, invalid("%s names %d images, not one", ocispec.ImageIndexFile, len(index.Manifests))
	}
	d := index.Manifests[0]
	d.Annotations = nil // a name that it had elsewhere
	return d, nil
}

// badLayout tells a broken archive from a reader that failed for a reason of its own.
func badLayout(err error) error {
	if errors.Is(err, tar.ErrHeader) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("reading the layout: %w", invalid("%v", err))
	}
	return err
}

func readIndex(r io.Reader) (*ocispec.Index, error) {
	p, err := io.ReadAll(io.LimitReader(r, maxJSON+1))
	if err != nil {
		return nil, badLayout(err)
	}
	index := new(ocispec.Index)
	if err := json.Unmarshal(p, index); err != nil || len(p) > maxJSON {
		return nil, invalid("%s can't be read: %v", ocispec.ImageIndexFile, err)
	}
	return index, nil
}

// readBlob writes a blob, unless the store has it; what came is checked either way.
func (b *Backend) readBlob(ctx context.Context, d digest.Digest, size int64, r io.Reader) error {
	if err := d.Validate(); err != nil {
		return invalid("%q is no digest", d)
	}
	in := &blobReader{r: r, sum: d.Verifier()}
	w, err := content.OpenWriter(ctx, b.ContentStore(), content.WithRef("berth-"+rand.Text()), content.WithDescriptor(ocispec.Descriptor{Digest: d, Size: size}))
	switch {
	case err == nil:
		defer w.Close()
		_, err = io.CopyBuffer(struct{ io.Writer }{w}, in, make([]byte, copyBuffer))
	case errdefs.IsAlreadyExists(err):
		_, err = io.Copy(io.Discard, in)
	}
	switch {
	case in.err != nil:
		return badLayout(in.err)
	case err != nil:
		return explain(err)
	case !in.sum.Verified():
		return invalid("blob %s has another digest", d)
	case w == nil:
		return nil
	}
	return explain(ignore(w.Commit(ctx, size, d), errdefs.IsAlreadyExists))
}

// copyBuffer is what goes to the engine at a time.
const copyBuffer = 1 << 20

// blobReader sums up what it reads and keeps its reader's error apart from a writer's.
type blobReader struct {
	r   io.Reader
	sum digest.Verifier
	err error
}

func (b *blobReader) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		b.err = err
	}
	_, _ = b.sum.Write(p[:n]) // never fails
	return n, err
}
