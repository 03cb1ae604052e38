package backendtest

import (
	"archive/tar"
	"bytes"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/berth-run/berth/oci"
)

// Paths in the suite's image.
const (
	ProbePath = "/usr/libexec/berth/probe"
	// NotExecutable is a file without any x.
	NotExecutable = "/usr/libexec/berth/not-executable"
)

// Image is the suite's: the probe, also in the worker's place, and nothing else.
type Image struct {
	v1.Image
}

// NewImage makes it with the probe binary at that path, or an empty one for "". Labels are added to
// those that every image of berth's has.
func NewImage(t testing.TB, probe string, labels map[string]string) Image {
	t.Helper()
	var binary []byte
	if probe != "" {
		var err error
		if binary, err = os.ReadFile(probe); err != nil {
			t.Fatal(err)
		}
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	img, err := mutate.AppendLayers(base, ociLayer(t, rootTar(t, binary)))
	if err != nil {
		t.Fatal(err)
	}
	cfg := v1.Config{
		// Nothing of these may reach a shard.
		Env:     []string{"FROM_IMAGE=1"},
		Cmd:     []string{"/from-image"},
		Volumes: map[string]struct{}{"/from-image": {}},
		Labels:  map[string]string{oci.SeccompLabel: string(oci.SeccompProfile())},
	}
	for k, v := range labels {
		cfg.Labels[k] = v
	}
	img, err = mutate.ConfigFile(img, configFile(t, img, cfg))
	if err != nil {
		t.Fatal(err)
	}
	return Image{img}
}

// WithWorker is i with the worker binary at that path in the worker's place.
func (i Image) WithWorker(t testing.TB, worker string) Image {
	t.Helper()
	binary, err := os.ReadFile(worker)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	writeEntry(t, w, &tar.Header{Typeflag: tar.TypeReg, Name: oci.WorkerPath[1:], Mode: 0o755}, binary)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	img, err := mutate.AppendLayers(i.Image, ociLayer(t, b.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	return Image{img}
}

func ociLayer(t testing.TB, tarred []byte) v1.Layer {
	t.Helper()
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(tarred)), nil }
	layer, err := tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		t.Fatal(err)
	}
	return layer
}

func configFile(t testing.TB, img v1.Image, cfg v1.Config) *v1.ConfigFile {
	t.Helper()
	f, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	f = f.DeepCopy()
	f.OS, f.Architecture, f.Config = "linux", runtime.GOARCH, cfg
	return f
}

// Digest is the config's, as backends.Image has it.
func (i Image) Digest(t testing.TB) string {
	t.Helper()
	h, err := i.ConfigName()
	if err != nil {
		t.Fatal(err)
	}
	return h.String()
}

// Layout gives the image as ImportImage takes it.
func (i Image) Layout(t testing.TB) io.Reader {
	t.Helper()
	return bytes.NewReader(layoutTar(t, i))
}

// layoutTar packs a layout with the given images.
func layoutTar(t testing.TB, images ...Image) []byte {
	t.Helper()
	dir := t.TempDir()
	p, err := layout.Write(dir, empty.Index)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range images {
		if err := p.AppendImage(i.Image); err != nil {
			t.Fatal(err)
		}
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.AddFS(os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// rootTar is the root file system. It has the folders that the spec mounts on.
func rootTar(t testing.TB, probe []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	seen := map[string]bool{}
	var dir func(name string)
	dir = func(name string) {
		if name == "/" || seen[name] {
			return
		}
		dir(path.Dir(name))
		seen[name] = true
		writeEntry(t, w, &tar.Header{Typeflag: tar.TypeDir, Name: name[1:] + "/", Mode: 0o755}, nil)
	}
	for _, d := range []string{"/dev", "/proc", "/sys", "/etc", "/var/tmp"} {
		dir(d)
	}
	for d, mode := range tmpfsModes(t) {
		dir(path.Dir(d))
		seen[d] = true
		writeEntry(t, w, &tar.Header{Typeflag: tar.TypeDir, Name: d[1:] + "/", Mode: mode}, nil)
	}
	file := func(name string, mode fs.FileMode, content []byte) {
		dir(filepath.Dir(name))
		writeEntry(t, w, &tar.Header{Typeflag: tar.TypeReg, Name: name[1:], Mode: int64(mode)}, content)
	}
	file(ProbePath, 0o755, probe)
	file(NotExecutable, 0o644, []byte("text\n"))
	file("/etc/passwd", 0o644, []byte("root:x:0:0::/:/bin/false\nberth:x:1000:1000::"+oci.Home+":/bin/false\n"))
	file("/etc/group", 0o644, []byte("root:x:0:\nberth:x:1000:\n"))
	dir(path.Dir(oci.WorkerPath))
	writeEntry(t, w, &tar.Header{Typeflag: tar.TypeLink, Name: oci.WorkerPath[1:], Linkname: ProbePath[1:], Mode: 0o755}, nil)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// tmpfsModes are the modes of a shard's tmpfs, by where they are. The folders below them need the same, as in
// every image of berth's: runc before 1.2 gives a tmpfs the mode of the folder that it hides.
func tmpfsModes(t testing.TB) map[string]int64 {
	t.Helper()
	spec, err := oci.ShardSpec{}.Spec()
	if err != nil {
		t.Fatal(err)
	}
	modes := map[string]int64{}
	for _, m := range spec.Mounts {
		for _, o := range m.Options {
			if octal, ok := strings.CutPrefix(o, "mode="); ok && m.Type == "tmpfs" && path.Dir(m.Destination) != "/dev" && m.Destination != "/dev" {
				if modes[m.Destination], err = strconv.ParseInt(octal, 8, 64); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	return modes
}

func writeEntry(t testing.TB, w *tar.Writer, h *tar.Header, content []byte) {
	t.Helper()
	h.Size = int64(len(content))
	if err := w.WriteHeader(h); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
}

// withLabel is i with one more label, and so another digest.
func withLabel(t testing.TB, i Image, value string) v1.Image {
	t.Helper()
	f, err := i.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	f = f.DeepCopy()
	f.Config.Labels["berth.test.variant"] = value
	img, err := mutate.ConfigFile(i.Image, f)
	if err != nil {
		t.Fatal(err)
	}
	return img
}
