package podman

import (
	"archive/tar"
	"bytes"
	"io"
	"slices"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// TestBare: what is made to take layers away is a layout that names them, and nothing but that.
func TestBare(t *testing.T) {
	layers := []ocispec.Descriptor{
		{MediaType: ocispec.MediaTypeImageLayer, Digest: digest.FromString("a"), Size: 1},
		{MediaType: ocispec.MediaTypeImageLayerGzip, Digest: digest.FromString("b"), Size: 2},
	}
	diffIDs := []digest.Digest{digest.FromString("a"), digest.FromString("unpacked b")}
	layout, err := bare(layers, diffIDs)
	if err != nil {
		t.Fatal(err)
	}
	docs := documents{}
	if err := nameLayout(io.Discard, bytes.NewReader(layout), "localhost/x:y", docs); err != nil {
		t.Fatal(err)
	}
	got, config, ok := docs.image()
	same := func(a, b ocispec.Descriptor) bool {
		return a.Digest == b.Digest && a.MediaType == b.MediaType && a.Size == b.Size
	}
	if !ok || !slices.EqualFunc(got, layers, same) || !slices.Equal(config.RootFS.DiffIDs, diffIDs) {
		t.Errorf("%v, layers %v, config %+v", ok, got, config)
	}
	if len(docs) != 4 {
		t.Errorf("%d files", len(docs))
	}
}

// TestDocuments: what isn't small isn't kept, and without all three there is no image.
func TestDocuments(t *testing.T) {
	docs := documents{}
	large := &tar.Header{Name: "blobs/sha256/x", Typeflag: tar.TypeReg, Size: maxDocument + 1}
	if _, err := io.Copy(io.Discard, docs.keep(bytes.NewReader(make([]byte, large.Size)), large)); err != nil || len(docs) > 0 {
		t.Errorf("%d kept, %v", len(docs), err)
	}
	docs[indexFile] = []byte(`{"manifests": [{"digest": "sha256:../x"}]}`)
	if _, _, ok := docs.image(); ok {
		t.Error("an image of an index alone")
	}
}

// TestOfArchive: of the forms that an image might have had, one counts.
func TestOfArchive(t *testing.T) {
	for said, want := range map[string]string{
		"unable to load image: payload does not match any of the supported image formats:\n * oci: no\n * oci-archive: writing blob: no space left on device\n * dir: no": "writing blob: no space left on device",
		"something else": "something else",
	} {
		if got := (&apiError{500, "", said}).ofArchive(); got.message != want || got.status != 500 {
			t.Errorf("%+v, want %q", got, want)
		}
	}
}
