package containerd

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// shift copies a layer, uncompressed, with every entry's ids moved into the range. An id beyond its end
// has no place in a shard.
func (r *idRange) shift(w io.Writer, layer io.Reader, mediaType string) error {
	plain, err := decompress(layer, mediaType)
	if err != nil {
		return err
	}
	defer plain.Close()
	tr, tw := tar.NewReader(plain), tar.NewWriter(w)
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return tw.Close()
		}
		if err != nil {
			return invalid("reading: %v", err)
		}
		if err := r.move(h); err != nil {
			return err
		}
		if err := tw.WriteHeader(h); err != nil {
			return fmt.Errorf("%s: %w", h.Name, err)
		}
		if _, err := io.Copy(tw, tr); err != nil {
			return fmt.Errorf("%s: %w", h.Name, err)
		}
	}
}

func (r *idRange) move(h *tar.Header) error {
	if h.Uid < 0 || h.Uid >= rangeSize || h.Gid < 0 || h.Gid >= rangeSize {
		return invalid("%s belongs to %d:%d: a shard has ids below %d", h.Name, h.Uid, h.Gid, rangeSize)
	}
	h.Uid += int(r.UID)
	h.Gid += int(r.GID)
	// The numbers count, and a format that has room for them.
	h.Uname, h.Gname, h.Format = "", "", tar.FormatPAX
	delete(h.PAXRecords, "uid")
	delete(h.PAXRecords, "gid")
	return nil
}

func decompress(r io.Reader, mediaType string) (io.ReadCloser, error) {
	switch {
	case strings.HasSuffix(mediaType, "gzip"):
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, invalid("reading: %v", err)
		}
		return z, nil
	case strings.HasSuffix(mediaType, "zstd"):
		z, err := zstd.NewReader(r)
		if err != nil {
			return nil, invalid("reading: %v", err)
		}
		return z.IOReadCloser(), nil
	case strings.HasSuffix(mediaType, "tar"):
		return io.NopCloser(r), nil
	}
	return nil, invalid("a layer has the unknown type %s", mediaType)
}
