package podman

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
)

const (
	indexFile = "index.json"
	// refAnnotation is where Podman reads an archive's name.
	refAnnotation = "org.opencontainers.image.ref.name"
	maxIndex      = 1 << 20
)

// nameLayout copies an OCI image layout (a tar stream) and puts ref on the one image of its index. It keeps
// what is small in docs.
func nameLayout(w io.Writer, layout io.Reader, ref string, docs documents) error {
	tr, tw := tar.NewReader(layout), tar.NewWriter(w)
	named := false
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return badLayout(err)
		}
		if path.Clean(h.Name) == indexFile {
			err, named = copyIndex(tw, docs.keep(tr, h), *h, ref), true
		} else {
			err = copyEntry(tw, docs.keep(tr, h), h)
		}
		if err != nil {
			return err
		}
	}
	if !named {
		return invalid("it has no %s, so it's no OCI image layout", indexFile)
	}
	return tw.Close()
}

// badLayout tells a broken archive from a reader or writer that failed for a reason of its own.
func badLayout(err error) error {
	if errors.Is(err, tar.ErrHeader) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("reading the layout: %w", invalid("%v", err))
	}
	return err
}

func copyEntry(tw *tar.Writer, r io.Reader, h *tar.Header) error {
	if err := tw.WriteHeader(h); err != nil {
		return err
	}
	_, err := io.Copy(tw, r)
	return badLayout(err)
}

func copyIndex(tw *tar.Writer, r io.Reader, h tar.Header, ref string) error {
	b, err := io.ReadAll(io.LimitReader(r, maxIndex+1))
	if err != nil {
		return badLayout(err)
	}
	if len(b) > maxIndex {
		return invalid("%s is over %d bytes", indexFile, maxIndex)
	}
	if b, err = nameIndex(b, ref); err != nil {
		return err
	}
	h.Size = int64(len(b))
	return copyEntry(tw, bytes.NewReader(b), &h)
}

// nameIndex sets the annotation, leaving all else as it is.
func nameIndex(index []byte, ref string) ([]byte, error) {
	var doc map[string]json.RawMessage
	var manifests []map[string]json.RawMessage
	if err := json.Unmarshal(index, &doc); err != nil {
		return nil, invalid("%s: %v", indexFile, err)
	}
	if err := json.Unmarshal(doc["manifests"], &manifests); err != nil || len(manifests) != 1 {
		return nil, invalid("%s names %d images, not one", indexFile, len(manifests))
	}
	annotations := map[string]string{}
	if raw := manifests[0]["annotations"]; raw != nil {
		if err := json.Unmarshal(raw, &annotations); err != nil {
			return nil, invalid("%s: annotations: %v", indexFile, err)
		}
	}
	annotations[refAnnotation] = ref
	var err error
	if manifests[0]["annotations"], err = json.Marshal(annotations); err != nil {
		return nil, err
	}
	if doc["manifests"], err = json.Marshal(manifests); err != nil {
		return nil, err
	}
	return json.Marshal(doc)
}
