package testrig

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/mutate"
	staticlayer "github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/image"
	"github.com/berth-run/berth/session/sessiontest"
)

// EnvSession names a folder with the static test binaries of SessionPackages, each as <its last
// element>.test.
const EnvSession = "BERTH_TEST_SESSION"

// Suites are the Debian releases that a desktop is tested on.
var Suites = []string{"trixie", "bookworm"}

// SessionPackages are the packages whose tests run in shards too, by their folder in the module.
var SessionPackages = []string{
	"session", "session/atspi", "session/bus", "session/client/chatgpt", "session/client/chatgpt/driver", "session/keyring", "session/x11",
}

// SessionTests gives the folder of EnvSession, with binaries for this machine's architecture.
func SessionTests(t testing.TB) string {
	t.Helper()
	if dir := os.Getenv(EnvSession); dir != "" {
		return dir
	}
	dir := t.TempDir()
	args := []string{"test", "-c", "-trimpath", "-ldflags=-s -w", "-o", dir + "/"}
	for _, pkg := range SessionPackages {
		args = append(args, module+"/"+pkg)
	}
	static(t, args...)
	return dir
}

// DesktopImage gives the engine an image of a suite for client chatgpt, with a worker and an app that are
// files, the apps that tests drive besides, and more files, by their paths without a leading slash. It keeps
// its name, so that there is one a suite; building it is cached by what goes in.
func DesktopImage(ctx context.Context, b backends.Backend, suite, worker, app string, files map[string]string) (ref string, err error) {
	built, err := image.Build(ctx, image.Recipe{
		Client: "chatgpt", Suite: suite, Worker: worker, App: app, Packages: sessiontest.Packages,
	}, image.Options{})
	if err != nil {
		return "", err
	}
	built.Ref = "localhost/berth-desktop-test:" + suite
	if err = addFiles(built, files); err == nil {
		_, err = image.Import(ctx, b, built)
	}
	return built.Ref, errors.Join(err, built.Close())
}

// addFiles puts a layer with files onto an image.
func addFiles(built *image.Result, files map[string]string) error {
	if len(files) == 0 {
		return nil
	}
	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		folder := &tar.Header{Typeflag: tar.TypeDir, Name: path.Dir(name) + "/", Mode: 0o755}
		file := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(files[name]))}
		if err := errors.Join(w.WriteHeader(folder), w.WriteHeader(file)); err != nil {
			return err
		}
		if _, err := io.WriteString(w, files[name]); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	img, err := mutate.AppendLayers(built.Image, staticlayer.NewLayer(layer.Bytes(), types.OCIUncompressedLayer))
	if err != nil {
		return err
	}
	config, err := img.ConfigName()
	built.Image, built.Digest = img, config.String()
	return err
}

// module is this one's path.
const module = "github.com/berth-run/berth"

// static runs a go command that builds for a shard.
func static(t testing.TB, args ...string) {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
}

// build makes a static Linux binary of one of this module's commands.
func build(t testing.TB, command string) string {
	t.Helper()
	p := filepath.Join(t.TempDir(), filepath.Base(command))
	static(t, "build", "-buildvcs=false", "-trimpath", "-ldflags=-s -w", "-o", p, module+"/"+command)
	return p
}
