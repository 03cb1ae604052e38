package containerd_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/containerd/v2/core/images"
	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/image"
)

// TestExportImageAsRoot: what containerd gives back is what it was given, by its own name and as one of
// several platforms', and can be built upon.
func TestExportImageAsRoot(t *testing.T) {
	r := newRig(t)
	want, err := r.Image(t.Context(), r.ref)
	if err != nil {
		t.Fatal(err)
	}
	pulled := r.pulled(t, runtime.GOARCH)
	for _, ref := range []string{r.ref, pulled} {
		var out bytes.Buffer
		if err := r.ExportImage(t.Context(), ref, &out); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "image.tar")
		if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := image.OpenBase(t.Context(), "oci-archive:"+file, runtime.GOARCH, nil); err != nil {
			t.Errorf("%s as a file: %v", ref, err)
		}
		base, err := image.OpenBase(t.Context(), ref, runtime.GOARCH, r)
		if err != nil || base.Digest != want.Digest {
			t.Errorf("building upon %s: %v, want %s: %v", ref, base, want.Digest, err)
		}
		again, err := r.ImportImage(t.Context(), ref+"-again", &out)
		if err != nil || again.Digest != want.Digest {
			t.Errorf("%s back: %+v, %v", ref, again, err)
		}
	}
	foreign := r.pulled(t, "riscv64")
	if err := r.ExportImage(t.Context(), foreign, &bytes.Buffer{}); !errors.Is(err, backends.ErrInvalid) || !strings.Contains(err.Error(), "linux/"+runtime.GOARCH) {
		t.Errorf("for another machine: %v", err)
	}
	if err := r.ExportImage(t.Context(), "localhost/berth-no-such:1", &bytes.Buffer{}); !errors.Is(err, backends.ErrNotFound) || !strings.Contains(err.Error(), "namespace berth") {
		t.Errorf("a missing image: %v", err)
	}
}

// pulled gives the rig's image another name, as if it had been pulled: with a manifest for each platform,
// of which only one is here.
func (r rig) pulled(t *testing.T, arch string) (ref string) {
	t.Helper()
	record, err := r.ImageService().Get(t.Context(), r.ref)
	if err != nil {
		t.Fatal(err)
	}
	here, other := record.Target, record.Target
	here.Platform = &ocispec.Platform{OS: "linux", Architecture: arch}
	other.Platform, other.Digest = &ocispec.Platform{OS: "linux", Architecture: "s390x"}, digest.FromString("elsewhere")
	index, err := json.Marshal(ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex, Manifests: []ocispec.Descriptor{other, here}})
	if err != nil {
		t.Fatal(err)
	}
	d := ocispec.Descriptor{MediaType: ocispec.MediaTypeImageIndex, Digest: digest.FromBytes(index), Size: int64(len(index))}
	held := content.WithLabels(map[string]string{"containerd.io/gc.ref.content.0": here.Digest.String()})
	if err := content.WriteBlob(t.Context(), r.ContentStore(), "index-"+arch, bytes.NewReader(index), d, held); err != nil {
		t.Fatal(err)
	}
	ref = "localhost/berth-pulled:" + arch
	if _, err := r.ImageService().Create(t.Context(), images.Image{Name: ref, Target: d}); err != nil {
		t.Fatal(err)
	}
	return ref
}
