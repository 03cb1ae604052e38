package image

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/berth-run/berth/backends"
)

// readArchive has go-containerregistry read what WriteArchive wrote, and validate all its hashes.
func readArchive(t testing.TB, r *Result) v1.Image {
	t.Helper()
	var buf bytes.Buffer
	if err := r.WriteArchive(&buf); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for tr := tar.NewReader(&buf); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(tr)
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(dir, h.Name), string(b), 0o644)
	}
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	m, err := index.IndexManifest()
	if err != nil || len(m.Manifests) != 1 {
		t.Fatalf("index %v, %v; want one image", m, err)
	}
	img, err := index.Image(m.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Image(img, validate.Fast); err != nil {
		t.Fatal(err)
	}
	checkLayers(t, img)
	return img
}

// checkLayers does what validate can't do for uncompressed layers: it hashes them.
func checkLayers(t testing.TB, img v1.Image) {
	t.Helper()
	layers, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}
	cf, err := img.ConfigFile()
	if err != nil || len(cf.RootFS.DiffIDs) != len(layers) {
		t.Fatalf("diff ids %v, %v; want %d", cf, err, len(layers))
	}
	for i, l := range layers {
		want, err := l.Digest()
		if err != nil {
			t.Fatal(err)
		}
		if got := hashLayer(t, l.Compressed); got != want.Hex {
			t.Errorf("layer %d has sha256:%s, want %s", i, got, want)
		}
		if got := hashLayer(t, l.Uncompressed); got != cf.RootFS.DiffIDs[i].Hex {
			t.Errorf("layer %d unpacks to sha256:%s, want %s", i, got, cf.RootFS.DiffIDs[i])
		}
	}
}

func hashLayer(t testing.TB, open func() (io.ReadCloser, error)) string {
	t.Helper()
	r, err := open()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	digest, _, err := sumReader(r)
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

func (e *engine) ImportImage(_ context.Context, ref string, r io.Reader) (backends.Image, error) {
	if e.archive == "full" {
		_, err := io.CopyN(&e.got, r, 1000)
		return backends.Image{}, errors.Join(err, os.ErrInvalid)
	}
	_, err := io.Copy(&e.got, r)
	return e.images["import"], err
}

func TestImport(t *testing.T) {
	p := newProbe(t, npmDelivers)
	r, err := Build(t.Context(), p.recipe(t), Options{CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	good := backends.Image{Ref: r.Ref, Digest: r.Digest}
	old := backends.Image{Ref: r.Ref, Digest: "sha256:old"}
	for what, tc := range map[string]struct {
		e    *engine
		sent bool
		want error
	}{
		"new":           {&engine{images: map[string]backends.Image{"import": good}}, true, nil},
		"there already": {&engine{images: map[string]backends.Image{r.Ref: good}}, false, nil},
		"refreshed":     {&engine{images: map[string]backends.Image{r.Ref: old, "import": good}}, true, nil},
		"another image": {&engine{images: map[string]backends.Image{"import": old}}, true, ErrIntegrity},
		"engine fails":  {&engine{archive: "full"}, true, os.ErrInvalid},
	} {
		t.Run(what, func(t *testing.T) {
			got, err := Import(t.Context(), tc.e, r)
			if !errors.Is(err, tc.want) || err == nil && got.Digest != r.Digest {
				t.Errorf("got %v, %v; want %v", got, err, tc.want)
			}
			if sent := tc.e.got.Len() > 0; sent != tc.sent {
				t.Errorf("image sent: %v, want %v", sent, tc.sent)
			}
		})
	}
}
