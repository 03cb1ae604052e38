package eval

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/image"
	"github.com/berth-run/berth/internal/evalconfig/evalconfigtest"
	"github.com/berth-run/berth/internal/runner"
	"github.com/berth-run/berth/internal/shardtest"
	"github.com/berth-run/berth/internal/version"
)

func TestFindImage(t *testing.T) {
	e := shardtest.New(t, shardtest.Options{})
	labelled(t, e)
	sum := sha256.Sum256([]byte("worker"))
	e.AddImage("mine", map[string]string{image.LabelWorker: hex.EncodeToString(sum[:])})
	e.AddImage("old", map[string]string{image.LabelWorker: "0123"})
	e.AddImage("debian", nil)
	tests := map[string]struct{ name, want string }{
		"set-up's":     {"", ""},
		"named":        {"mine", ""},
		"missing":      {"nowhere", "the engine doesn't have nowhere; `berth runner setup podman --config … --name nowhere` makes it"},
		"foreign":      {"debian", "debian isn't one of berth's"},
		"other worker": {"old", "old was made by another build of berth"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			img, err := findImage(t.Context(), e, "amd64", "codex", tt.name)
			switch {
			case tt.want == "" && (err != nil || img.Digest == ""):
				t.Errorf("got %+v, %v", img, err)
			case tt.want != "" && (!errors.Is(err, ErrImage) || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("got %v, want ErrImage with %q", err, tt.want)
			}
		})
	}
	if _, err := findImage(t.Context(), e, "amd64", "cowork", ""); !errors.Is(err, ErrImage) || !strings.Contains(err.Error(), "berth-cowork-linux:"+version.Version) {
		t.Errorf("before set-up: %v", err)
	}
}

func TestWorkerFile(t *testing.T) {
	t.Setenv("BERTH_WORKER", "")
	if _, err := workerFile("riscv64"); !errors.Is(err, ErrNoWorker) || !strings.Contains(err.Error(), "berth-worker-linux-riscv64 should be beside") {
		t.Errorf("got %v", err)
	}
	t.Setenv("BERTH_WORKER", "/somewhere")
	if f, err := workerFile("riscv64"); f != "/somewhere" || err != nil {
		t.Errorf("got %q, %v", f, err)
	}
}

func TestRecipe(t *testing.T) {
	e := shardtest.New(t, shardtest.Options{})
	labelled(t, e)
	o, err := runner.ParseOptions([]string{"codexVersion=0.1.2", "suite=forky", "app=app.deb", "packages=a,b", "overlay=dir"})
	if err != nil {
		t.Fatal(err)
	}
	s := Setup{Engine: e, Eval: evalconfigtest.Resolve(t, config, cases), Options: o}
	r, err := s.recipe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r.Client != "codex" || r.Version != "0.1.2" || r.Suite != "forky" || r.App != "app.deb" || len(r.Packages) != 2 || r.Overlay != "dir" || r.Worker != os.Getenv("BERTH_WORKER") || r.Base != nil {
		t.Errorf("%+v", r)
	}
	s.Options.Image = "oci:" + filepath.Join(t.TempDir(), "none")
	if _, err := s.recipe(t.Context()); err == nil {
		t.Error("a base image that isn't there is taken")
	}
}

// TestSetupStops: a set-up that can't go on gives the engine nothing.
func TestSetupStops(t *testing.T) {
	e := shardtest.New(t, shardtest.Options{})
	labelled(t, e)
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	cancel(stop)
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	s := Setup{Engine: e, Eval: evalconfigtest.Resolve(t, config, cases), Name: "localhost/new", Progress: func(image.Event) {}}
	if img, err := s.Do(ctx); err == nil {
		t.Errorf("got %+v", img)
	}
	if _, err := e.Image(t.Context(), "localhost/new"); err == nil {
		t.Error("the engine has the image")
	}
}

// TestAppVersion: another version of the app than is meant is said before anything runs.
func TestAppVersion(t *testing.T) {
	img := backends.Image{Ref: "app:1", Labels: map[string]string{image.LabelPackage: "chatgpt", image.LabelPackageVersion: "26.1"}}
	for want, text := range map[string]string{"": "", "26.1": "", "26.2": "chatgptVersion=26.2 was asked for, and app:1 has chatgpt 26.1"} {
		if err := checkAppVersion(img, want); (err == nil) != (text == "") || err != nil && (!errors.Is(err, ErrImage) || !strings.Contains(err.Error(), text)) {
			t.Errorf("%q: %v", want, err)
		}
	}
	if err := checkAppVersion(backends.Image{Ref: "codex:1"}, "26.1"); !errors.Is(err, ErrImage) || !strings.Contains(err.Error(), "no app from a package") {
		t.Error(err)
	}
}
