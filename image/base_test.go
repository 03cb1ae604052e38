package image

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/oci"
)

type baseOptions struct {
	arch   string
	labels map[string]string
}

// baseImageOf is someone's image in Docker's media types, with gzip and a user of its own.
func baseImageOf(t testing.TB, o baseOptions) v1.Image {
	t.Helper()
	if o.arch == "" {
		o.arch = runtime.GOARCH
	}
	files := tarOf(t,
		file{tar.Header{Name: "etc/passwd", Mode: 0o644}, "root:x:0:0::/root:/bin/sh\nnode:x:1000:1000::/home/node:/bin/sh\n"},
		file{tar.Header{Name: "etc/group", Mode: 0o644}, "root:x:0:\n"},
		file{tar.Header{Name: "opt/mine", Mode: 0o644}, "mine"},
	)
	l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files)), nil })
	if err != nil {
		t.Fatal(err)
	}
	img, err := mutate.AppendLayers(empty.Image, l)
	if err != nil {
		t.Fatal(err)
	}
	cf, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	cf = cf.DeepCopy()
	cf.OS, cf.Architecture = "linux", o.arch
	cf.Config = v1.Config{
		User: "root", Env: []string{"PATH=/theirs", "MINE=1"}, Cmd: []string{"bash"}, Labels: o.labels,
		Volumes: map[string]struct{}{"/data": {}}, ExposedPorts: map[string]struct{}{"80/tcp": {}},
	}
	if img, err = mutate.ConfigFile(img, cf); err != nil {
		t.Fatal(err)
	}
	return img
}

func writeBase(t testing.TB, o baseOptions) string {
	t.Helper()
	dir := t.TempDir()
	p, err := layout.Write(dir, empty.Index)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.AppendImage(baseImageOf(t, o)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// archiveOf packs a layout's folder.
func archiveOf(t testing.TB, dir string) string {
	t.Helper()
	f := filepath.Join(t.TempDir(), "image.tar")
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	if err := w.AddFS(os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	writeFile(t, f, buf.String(), 0o644)
	return f
}

func dockerArchiveOf(t testing.TB, img v1.Image) string {
	t.Helper()
	f := filepath.Join(t.TempDir(), "docker.tar")
	tag, err := name.NewTag("localhost/theirs:1")
	if err != nil {
		t.Fatal(err)
	}
	if err := tarball.WriteToFile(f, tag, img); err != nil {
		t.Fatal(err)
	}
	return f
}

// engine is the part of a backend that images are about.
type engine struct {
	backends.Backend
	images  map[string]backends.Image
	archive string
	got     bytes.Buffer
}

func (e *engine) Image(_ context.Context, ref string) (backends.Image, error) {
	if i, ok := e.images[ref]; ok {
		return i, nil
	}
	return backends.Image{}, backends.ErrNotFound
}

func (e *engine) ExportImage(_ context.Context, _ string, w io.Writer) error {
	b, err := os.ReadFile(e.archive)
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}

func TestBaseIsRelabelledWhateverItsForm(t *testing.T) {
	hostile := baseOptions{labels: map[string]string{oci.SeccompLabel: `{"defaultAction":"SCMP_ACT_ALLOW"}`, "theirs": "kept", LabelWorker: "no"}}
	dir := writeBase(t, hostile)
	eng := &engine{archive: archiveOf(t, dir), images: map[string]backends.Image{"localhost/theirs:1": {Digest: "sha256:1"}}}
	for _, spec := range []string{
		"oci:" + dir, "oci-archive:" + archiveOf(t, dir), "docker-archive:" + dockerArchiveOf(t, baseImageOf(t, hostile)), "localhost/theirs:1",
	} {
		kind, _, _ := strings.Cut(spec, ":")
		t.Run(kind, func(t *testing.T) {
			p := newProbe(t, npmDelivers)
			base, err := OpenBase(t.Context(), spec, runtime.GOARCH, eng)
			if err != nil {
				t.Fatal(err)
			}
			cacheDir := t.TempDir()
			r, err := Build(t.Context(), Recipe{Client: "probe", Worker: workerFile(t), Base: base}, Options{CacheDir: cacheDir})
			if err != nil {
				t.Fatal(err)
			}
			img := readArchive(t, r)
			cf, err := img.ConfigFile()
			if err != nil {
				t.Fatal(err)
			}
			if got := cf.Config.Labels; got[oci.SeccompLabel] != string(oci.SeccompProfile()) || got["theirs"] != "kept" || got[LabelWorker] != hashOf([]byte("the worker")) {
				t.Errorf("labels: %v", got)
			}
			if c := cf.Config; c.User != "1000:1000" || c.Entrypoint[0] != oci.WorkerPath || len(c.Cmd) != 0 || len(c.Volumes) != 0 || len(c.ExposedPorts) != 0 {
				t.Errorf("config: %+v", c)
			}
			if want := []string{"PATH=/theirs", "MINE=1", "HOME=/home/berth", "LANG=C.UTF-8"}; !slices.Equal(cf.Config.Env, want) {
				t.Errorf("env %q, want %q", cf.Config.Env, want)
			}
			root := mutate.Extract(img)
			defer root.Close()
			files := extract(t, root)
			if files["opt/mine"] != "mine" || files["usr/libexec/berth/berth-worker"] != "the worker" || !strings.Contains(files["opt/probe/bin/probe"], "echo probe") {
				t.Errorf("files: %v", files)
			}
			if want := "root:x:0:0::/root:/bin/sh\nberth:x:1000:1000::/home/berth:/bin/sh\n"; files["etc/passwd"] != want {
				t.Errorf("passwd %q, want %q", files["etc/passwd"], want)
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
			for _, f := range cacheFiles(t, cacheDir) {
				if strings.HasPrefix(f, "tmp/") {
					t.Errorf("left behind: %s", f)
				}
			}
			if p.called(t) != 1 {
				t.Errorf("npm ran %d times", p.called(t))
			}
		})
	}
}

func extract(t testing.TB, r io.Reader) map[string]string {
	t.Helper()
	files := map[string]string{}
	for tr := tar.NewReader(r); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(tr)
		if err != nil {
			t.Fatal(err)
		}
		files[h.Name] = string(b)
	}
}

func TestBaseOfOursKeepsItsApp(t *testing.T) {
	p := newProbe(t, npmDelivers)
	base, err := OpenBase(t.Context(), "oci:"+writeBase(t, baseOptions{labels: map[string]string{LabelApp("probe"): "1"}}), runtime.GOARCH, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Build(t.Context(), Recipe{Client: "probe", Worker: workerFile(t), Base: base}, Options{CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if m, err := r.Image.Manifest(); err != nil || len(m.Layers) != 3 {
		t.Errorf("layers %v, %v; want base, identity and worker", m, err)
	}
	if p.called(t) != 0 {
		t.Error("npm ran for an app that is there")
	}
}

// TestPackageOnBaseOfOurs: what a package has in the app's place doesn't take it, though the base has the
// same app.
func TestPackageOnBaseOfOurs(t *testing.T) {
	r := appRecipe(t, aProgram, file{tar.Header{Name: "./opt/probe/bin/probe", Mode: 0o755}, "not the real one"})
	var err error
	r.Base, err = OpenBase(t.Context(), "oci:"+writeBase(t, baseOptions{labels: map[string]string{LabelApp("probe"): "1"}}), runtime.GOARCH, nil)
	if err != nil {
		t.Fatal(err)
	}
	m, err := mustBuild(t, r, Options{CacheDir: t.TempDir()}).Image.Manifest()
	if err != nil || len(m.Layers) != 5 {
		t.Errorf("layers %v, %v; want base, package, app, identity and worker", m, err)
	}
}

func TestOpenBaseRefuses(t *testing.T) {
	garbage := filepath.Join(t.TempDir(), "garbage.tar")
	writeFile(t, garbage, strings.Repeat("no tar ", 300), 0o644)
	altered := writeBase(t, baseOptions{})
	blobs, err := filepath.Glob(filepath.Join(altered, "blobs/sha256/*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range blobs {
		writeFile(t, b, "{}", 0o644)
	}
	two := writeBase(t, baseOptions{})
	lp, err := layout.FromPath(two)
	if err != nil {
		t.Fatal(err)
	}
	if err := lp.AppendImage(baseImageOf(t, baseOptions{labels: map[string]string{"second": "1"}})); err != nil {
		t.Fatal(err)
	}
	for what, tc := range map[string]struct {
		spec string
		b    backends.Backend
		want error
	}{
		"another architecture": {"oci:" + writeBase(t, baseOptions{arch: "riscv64"}), nil, ErrBase},
		"no layout":            {"oci:" + t.TempDir(), nil, ErrBase},
		"no tar":               {"oci-archive:" + garbage, nil, ErrBase},
		"no file":              {"oci-archive:" + garbage + ".no", nil, ErrBase},
		"no docker archive":    {"docker-archive:" + garbage, nil, ErrBase},
		"altered":              {"oci:" + altered, nil, ErrIntegrity},
		"two images":           {"oci:" + two, nil, ErrBase},
		"not in the engine":    {"localhost/none:1", &engine{}, backends.ErrNotFound},
		"no engine":            {"localhost/none:1", nil, ErrBase},
	} {
		t.Run(what, func(t *testing.T) {
			if _, err := OpenBase(t.Context(), tc.spec, runtime.GOARCH, tc.b); !errors.Is(err, tc.want) || !errors.Is(err, ErrBase) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
		})
	}
}
