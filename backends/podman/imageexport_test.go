package podman_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/backends/backendtest"
	"github.com/berth-run/berth/image"
	"github.com/berth-run/berth/internal/testrig"
)

// What Podman gives back is what it was given, and can be built upon.
func TestExportImage(t *testing.T) {
	b := testrig.Podman(t)
	const ref = "localhost/berth-export-test:1"
	want, err := b.ImportImage(t.Context(), ref, backendtest.NewImage(t, "", map[string]string{"kept": "yes"}).Layout(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.RemoveImage(t.Context(), ref) })
	var out bytes.Buffer
	if err := b.ExportImage(t.Context(), ref, &out); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "image.tar")
	if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	base, err := image.OpenBase(t.Context(), "oci-archive:"+file, runtime.GOARCH, nil)
	if err != nil {
		t.Fatal(err)
	}
	if base.Digest == "" {
		t.Error("the export has no digest")
	}
	if _, err := image.OpenBase(t.Context(), ref, runtime.GOARCH, b); err != nil {
		t.Errorf("building upon %s of the engine (%s): %v", ref, want.Digest, err)
	}
	if err := b.ExportImage(t.Context(), "localhost/berth-no-such:1", &out); !errors.Is(err, backends.ErrNotFound) {
		t.Errorf("a missing image: got %v, want ErrNotFound", err)
	}
}
