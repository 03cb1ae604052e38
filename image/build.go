package image

import (
	"context"
	"errors"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sync/errgroup"
)

// Options say how to build, and don't change what is built.
type Options struct {
	// CacheDir keeps layers and packages; default $XDG_CACHE_HOME/berth, else ~/.cache/berth.
	CacheDir string
	// Mirror is a Debian mirror's URL; default this machine's apt sources.
	Mirror string
	// Refresh builds Debian's root file system again, with the mirror's packages of today.
	Refresh bool
	// Check proves the app before the image is used; nil for none.
	Check *Check
	// Progress is called for each event, one at a time; it must not block. Nil for none.
	Progress func(Event)
}

// Result is a built image. It holds the cache until Close, so that its layers stay.
type Result struct {
	// Ref is the name that Import gives it in the engine; made of what went in, unless it is set anew.
	Ref string
	// Digest is the config's digest, as backends.Image has it: "sha256:…".
	Digest string
	// Packages are Debian's, as name=version, sorted; nil for a base image of the user's.
	Packages []string
	// Image gives the layers; they are read from the cache.
	Image v1.Image

	report *reporter
	closes []func() error
}

// Close lets others use the cache.
func (r *Result) Close() error {
	var errs []error
	for _, c := range r.closes {
		errs = append(errs, c())
	}
	r.closes = nil
	return errors.Join(errs...)
}

// build is one run of Build.
type build struct {
	plan   *plan
	opts   Options
	cache  *cache
	report *reporter
}

// Build makes the image of a recipe, or finds it in the cache. It waits for another Build with the
// same cache. Whatever fails, the cache holds only whole layers afterwards, and no temporary files;
// those of a build that was killed go when the next one starts.
func Build(ctx context.Context, r Recipe, o Options) (*Result, error) {
	p, err := newPlan(r)
	if err != nil {
		return nil, err
	}
	report := &reporter{f: o.Progress}
	dir, err := cacheDir(o.CacheDir)
	if err != nil {
		return nil, err
	}
	c, err := openCache(ctx, dir, report)
	if err != nil {
		return nil, err
	}
	b := &build{plan: p, opts: o, cache: c, report: report}
	res := &Result{Ref: p.ref(), report: report, closes: []func() error{c.close}}
	if err := b.run(ctx, res); err != nil {
		return nil, errors.Join(err, res.Close())
	}
	return res, nil
}

func cacheDir(dir string) (string, error) {
	if dir != "" {
		return filepath.Abs(dir)
	}
	return defaultCacheDir()
}

func (b *build) run(ctx context.Context, res *Result) error {
	s, err := b.layers(ctx, res)
	if err != nil {
		return err
	}
	if err := b.check(ctx, s); err != nil {
		return err
	}
	img, err := b.assemble(s)
	if err != nil {
		return err
	}
	name, err := img.ConfigName()
	if err != nil {
		return err
	}
	res.Image, res.Digest = img, name.String()
	return nil
}

// stack is an image's layers before they are an image.
type stack struct {
	// base is the config of the user's image, nil for Debian's root file system.
	base *v1.ConfigFile
	// root are the layers of the root file system.
	root []v1.Layer
	// rootHash stands for their content.
	rootHash string
	// program is the app that came as a Debian package, nil for none.
	program *layer
	// app is nil when the base has it.
	app     *layer
	overlay *layer
}

// layers makes all that is slow, side by side: mmdebstrap waits for its mirror as npm does for its
// registry.
func (b *build) layers(ctx context.Context, res *Result) (*stack, error) {
	var s stack
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return b.root(ctx, &s, res) })
	g.Go(func() error {
		if b.baseHasApp() {
			return nil
		}
		e, err := b.app(ctx)
		s.app = b.cache.layer(e)
		return err
	})
	if b.plan.deb != nil {
		g.Go(func() error {
			e, err := b.program(ctx)
			s.program = b.cache.layer(e)
			return err
		})
	}
	if b.plan.Overlay != "" {
		g.Go(func() error {
			e, err := b.overlay(ctx)
			s.overlay = b.cache.layer(e)
			return err
		})
	}
	return &s, g.Wait()
}

// root is Debian's root file system, or the user's image.
func (b *build) root(ctx context.Context, s *stack, res *Result) error {
	if b.plan.Base == nil {
		e, err := b.debian(ctx)
		s.root, s.rootHash = []v1.Layer{b.cache.layer(e)}, "sha256:"+e.Digest
		res.Packages = e.Packages
		return err
	}
	img, err := b.plan.Base.open(ctx, b.cache)
	if err != nil {
		return err
	}
	res.closes = append(res.closes, img.close)
	s.base, s.root, s.rootHash = img.config, img.layers, b.plan.Base.Digest
	b.report.emit(Event{Step: StepRoot, Detail: b.plan.Base.Name, Cached: true, Done: true})
	return nil
}
