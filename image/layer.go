package image

import (
	"bytes"
	"io"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// layer is an uncompressed layer: its bytes are its blob, its digest is its diff id.
type layer struct {
	hash v1.Hash
	size int64
	open func() (io.ReadCloser, error)
}

var _ v1.Layer = (*layer)(nil)

func (l *layer) Digest() (v1.Hash, error)             { return l.hash, nil }
func (l *layer) DiffID() (v1.Hash, error)             { return l.hash, nil }
func (l *layer) Compressed() (io.ReadCloser, error)   { return l.open() }
func (l *layer) Uncompressed() (io.ReadCloser, error) { return l.open() }
func (l *layer) Size() (int64, error)                 { return l.size, nil }
func (l *layer) MediaType() (types.MediaType, error)  { return types.OCIUncompressedLayer, nil }

// layer gives the cached layer of e.
func (c *cache) layer(e entry) *layer {
	path := c.blob(e.Digest)
	return &layer{
		hash: v1.Hash{Algorithm: "sha256", Hex: e.Digest},
		size: e.Size,
		open: func() (io.ReadCloser, error) { return os.Open(path) },
	}
}

// memoryLayer is a small layer that is made anew each time.
func memoryLayer(epoch int64, fill func(*layerWriter) error) (*layer, error) {
	var buf bytes.Buffer
	w := newLayerWriter(&buf, epoch)
	if err := fill(w); err != nil {
		return nil, err
	}
	if err := w.close(); err != nil {
		return nil, err
	}
	b := buf.Bytes()
	return &layer{
		hash: v1.Hash{Algorithm: "sha256", Hex: hashOf(b)},
		size: int64(len(b)),
		open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b)), nil },
	}, nil
}
