package eval

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/image"
	"github.com/berth-run/berth/internal/evalconfig"
	"github.com/berth-run/berth/internal/runner"
	"github.com/berth-run/berth/internal/version"
)

// Setup is `berth runner setup`.
type Setup struct {
	Engine  backends.Backend
	Eval    *evalconfig.Eval
	Options runner.Options
	// Name is the image's in the engine; default ImageName of the eval's client.
	Name string
	// Refresh builds the root file system again, with the mirror's packages of today.
	Refresh  bool
	Progress func(image.Event)
}

// ImageName is what set-up calls a client's image, and a run looks for.
func ImageName(client string) string {
	return fmt.Sprintf("localhost/berth-%s-linux:%s", client, version.Version)
}

// Do builds the image, or finds it in the cache, and gives it to the engine.
func (s *Setup) Do(ctx context.Context) (backends.Image, error) {
	recipe, err := s.recipe(ctx)
	if err != nil {
		return backends.Image{}, err
	}
	built, err := image.Build(ctx, recipe, image.Options{
		Mirror: s.Options.Mirror, Refresh: s.Refresh, Check: strictCheck(), Progress: s.Progress,
	})
	if err != nil {
		return backends.Image{}, err
	}
	if built.Ref = s.Name; built.Ref == "" {
		built.Ref = ImageName(recipe.Client)
	}
	had, err := s.Engine.Image(ctx, built.Ref)
	replaces := err == nil && had.Digest != built.Digest
	img, err := image.Import(ctx, s.Engine, built)
	if err == nil && replaces && s.Progress != nil {
		s.Progress(image.Event{Step: image.StepImport, Detail: "replaced the image that had this name; --name keeps several", Done: true})
	}
	return img, also(err, built.Close())
}

func (s *Setup) recipe(ctx context.Context) (image.Recipe, error) {
	info, err := s.Engine.Info(ctx)
	if err != nil {
		return image.Recipe{}, err
	}
	client, err := imageClient(s.Eval)
	if err != nil {
		return image.Recipe{}, err
	}
	worker, err := workerFile(info.Arch)
	if err != nil {
		return image.Recipe{}, err
	}
	r := image.Recipe{
		Client: client, Version: s.Options.Codex, App: s.Options.App, AppVersion: s.Options.AppVersion, Arch: info.Arch, Suite: s.Options.Suite,
		Packages: s.Options.Packages, Overlay: s.Options.Overlay, Worker: worker,
	}
	if s.Options.Image != "" {
		r.Base, err = image.OpenBase(ctx, s.Options.Image, info.Arch, s.Engine)
	}
	return r, err
}

// chosenImage gives the image of a client's shards, with the version of the app that is meant.
func (q Request) chosenImage(ctx context.Context, arch, client string) (backends.Image, error) {
	img, err := findImage(ctx, q.Engine, arch, client, q.Image)
	if err == nil {
		err = checkAppVersion(img, q.AppVersion)
	}
	return img, err
}

// findImage gives the image of a run: the one it names, or set-up's. It must have been made by set-up
// with this very worker, so that both ends of the link are of one build.
func findImage(ctx context.Context, engine backends.Backend, arch, client, name string) (backends.Image, error) {
	setup := "berth runner setup podman --config …"
	if client == chatgptImage {
		setup += " --runner-option app=FILE.deb"
	}
	again := "run `" + setup + "` first"
	if name == "" {
		name = ImageName(client)
	} else {
		again = fmt.Sprintf("`%s --name %s` makes it", setup, name)
	}
	img, err := engine.Image(ctx, name)
	if errors.Is(err, backends.ErrNotFound) {
		return img, fmt.Errorf("%w: the engine doesn't have %s; %s", ErrImage, name, again)
	}
	if err != nil {
		return img, err
	}
	worker, err := workerFile(arch)
	if err != nil {
		return img, err
	}
	body, err := os.ReadFile(worker)
	if err != nil {
		return img, err
	}
	sum := sha256.Sum256(body)
	switch img.Labels[image.LabelWorker] {
	case hex.EncodeToString(sum[:]):
		return img, nil
	case "":
		return img, fmt.Errorf("%w: %s isn't one of berth's; `berth runner setup podman --config … --runner-option image=%[2]s --name NAME` builds one upon it, to run by image=NAME", ErrImage, name)
	}
	return img, fmt.Errorf("%w: %s was made by another build of berth; %s (nothing but the worker is rebuilt)", ErrImage, name, again)
}

// checkAppVersion refuses an image with another version of the app than is meant.
func checkAppVersion(img backends.Image, want string) error {
	has := img.Labels[image.LabelPackageVersion]
	switch {
	case want == "" || has == want:
		return nil
	case has == "":
		return fmt.Errorf("%w: chatgptVersion=%s was asked for, and %s has no app from a package", ErrImage, want, img.Ref)
	}
	return fmt.Errorf("%w: chatgptVersion=%s was asked for, and %s has %s %s; set up again with that version's package, or name another image", ErrImage, want, img.Ref, img.Labels[image.LabelPackage], has)
}
