package image

import (
	"maps"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/berth-run/berth/internal/version"
	"github.com/berth-run/berth/oci"
)

// Labels of an image, beside oci.SeccompLabel and LabelApp.
const (
	// LabelVersion is berth's.
	LabelVersion = "run.berth.version"
	// LabelSuite is Debian's release, "" for a base image of the user's.
	LabelSuite = "run.berth.suite"
	// LabelRoot is the content of the root file system, by its hash.
	LabelRoot = "run.berth.rootfs"
	// LabelWorker is the worker binary's sha256, in hex.
	LabelWorker = "run.berth.worker"
	// LabelPackage and LabelPackageVersion are of the app that came as a Debian package.
	LabelPackage        = "run.berth.app.name"
	LabelPackageVersion = "run.berth.app.version"
)

// LabelApp is the label that holds an app's version, such as run.berth.codex.version.
func LabelApp(app string) string { return "run.berth." + app + ".version" }

// Versions tells from an image's labels which apps are in it, as versions by name.
func Versions(labels map[string]string) map[string]string {
	versions := map[string]string{}
	for label, v := range labels {
		app, isApp := strings.CutSuffix(label, ".version")
		app, ours := strings.CutPrefix(app, "run.berth.")
		switch {
		case label == LabelPackageVersion:
			versions[labels[LabelPackage]] = v
		case isApp && ours:
			versions[app] = v
		}
	}
	return versions
}

// assemble puts the layers together and labels them.
func (b *build) assemble(s *stack) (v1.Image, error) {
	below := s.below()
	identity, err := identityLayer(below, b.plan.Epoch)
	if err != nil {
		return nil, err
	}
	worker, err := workerLayer(b.plan.worker, b.plan.Epoch)
	if err != nil {
		return nil, err
	}
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	created := v1.Time{Time: time.Unix(b.plan.Epoch, 0).UTC()}
	var adds []mutate.Addendum
	for _, l := range append(below, identity, worker) {
		mt, err := l.MediaType()
		if err != nil {
			return nil, err
		}
		adds = append(adds, mutate.Addendum{Layer: l, MediaType: ociLayerType(mt), History: v1.History{Created: created, CreatedBy: "berth"}})
	}
	if img, err = mutate.Append(img, adds...); err != nil {
		return nil, err
	}
	cf, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	cf = cf.DeepCopy()
	cf.OS, cf.Architecture, cf.Created = "linux", b.plan.Arch, created
	cf.Config = b.config(s)
	return mutate.ConfigFile(img, cf)
}

// below are the layers below identity.
func (s *stack) below() []v1.Layer {
	ls := append([]v1.Layer{}, s.root...)
	for _, l := range []*layer{s.program, s.app, s.overlay} {
		if l != nil {
			ls = append(ls, l)
		}
	}
	return ls
}

// workerLayer is berth-worker alone.
func workerLayer(worker []byte, epoch int64) (*layer, error) {
	name := strings.TrimPrefix(oci.WorkerPath, "/")
	return memoryLayer(epoch, func(w *layerWriter) error {
		if err := w.parents(name); err != nil {
			return err
		}
		// Not readable: the kernel then keeps every other process out of the worker's memory from its
		// first instruction, where a prctl of its own would come later.
		return w.file(name, 0o111, int64(len(worker)), strings.NewReader(string(worker)))
	})
}

// config is berth's own, but for the environment and labels that a base image brings. Its volumes,
// ports and health check would have the engine make things that nobody removes.
func (b *build) config(s *stack) v1.Config {
	c := v1.Config{
		User:       "1000:1000",
		Entrypoint: []string{oci.WorkerPath, "init"},
		WorkingDir: oci.Home,
		Labels:     map[string]string{},
	}
	if s.base != nil {
		c.Env = s.base.Config.Env
		maps.Copy(c.Labels, s.base.Config.Labels)
	}
	for _, e := range []string{"HOME=" + oci.Home, "LANG=C.UTF-8", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"} {
		c.Env = withDefaultEnv(c.Env, e)
	}
	maps.Copy(c.Labels, b.labels(s))
	return c
}

func (b *build) labels(s *stack) map[string]string {
	suite := b.plan.Suite
	if s.base != nil {
		suite = ""
	}
	labels := map[string]string{
		oci.SeccompLabel:                 string(b.plan.seccomp),
		LabelVersion:                     version.Version,
		LabelApp(b.plan.client.app.name): b.plan.Version,
		LabelSuite:                       suite,
		LabelRoot:                        s.rootHash,
		LabelWorker:                      b.plan.workerHash,
	}
	if d := b.plan.deb; d != nil {
		labels[LabelPackage], labels[LabelPackageVersion] = d.name, d.version
	}
	return labels
}

func withDefaultEnv(env []string, e string) []string {
	name, _, _ := strings.Cut(e, "=")
	for _, have := range env {
		if strings.HasPrefix(have, name+"=") {
			return env
		}
	}
	return append(env, e)
}

// ociLayerType is OCI's name for a layer's media type, which may be Docker's.
func ociLayerType(t types.MediaType) types.MediaType {
	switch t {
	case types.DockerLayer:
		return types.OCILayer
	case types.DockerUncompressedLayer:
		return types.OCIUncompressedLayer
	}
	return t
}
