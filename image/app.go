package image

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

// app makes the layer of the client's app out of its npm package.
func (b *build) app(ctx context.Context) (entry, error) {
	name := b.plan.client.app.name + "-" + b.plan.appKey()
	if e, ok := b.cache.load(name, ""); ok {
		b.report.emit(Event{Step: StepApp, Bytes: e.Size, Total: e.Size, Cached: true, Done: true})
		return e, nil
	}
	tgz, err := b.npmPackage(ctx, b.plan.pkg)
	if err != nil {
		return entry{}, err
	}
	e, err := b.cache.store(ctx, name, func(w io.Writer) (entry, error) {
		return entry{}, writeApp(b.report.meter(w, StepApp, 0), tgz, b.plan.client.app, b.plan.Epoch)
	})
	if err == nil {
		b.report.emit(Event{Step: StepApp, Bytes: e.Size, Total: e.Size, Done: true})
	}
	return e, err
}

// writeApp copies the files that a names from the package to a layer, in the package's order.
func writeApp(w io.Writer, tgz string, a app, epoch int64) error {
	f, err := os.Open(tgz)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrIntegrity, err)
	}
	out := newLayerWriter(w, epoch)
	links := slices.Sorted(maps.Keys(a.links))
	if err := out.parents(append(slices.Collect(maps.Values(a.files)), links...)...); err != nil {
		return err
	}
	if err := copyApp(out, tar.NewReader(z), a.files); err != nil {
		return err
	}
	for _, l := range links {
		if err := out.symlink(l, a.links[l]); err != nil {
			return err
		}
	}
	return out.close()
}

func copyApp(out *layerWriter, in *tar.Reader, files map[string]string) error {
	missing := maps.Clone(files)
	for len(missing) > 0 {
		h, err := in.Next()
		if err == io.EOF {
			return fmt.Errorf("%w: the package has no %s", ErrRecipe, slices.Sorted(maps.Keys(missing))[0])
		}
		if err != nil {
			return err
		}
		inside := vendorPath(h.Name)
		to, ok := missing[inside]
		if !ok || h.Typeflag != tar.TypeReg {
			continue
		}
		delete(missing, inside)
		if err := out.file(to, readable(h.Mode), h.Size, in); err != nil {
			return err
		}
	}
	return nil
}

// vendorPath is a name's part below package/vendor/<target triple>/.
func vendorPath(name string) string {
	rest, ok := strings.CutPrefix(name, "package/vendor/")
	if !ok {
		return ""
	}
	_, inside, _ := strings.Cut(rest, "/")
	return inside
}

// readable is 0755 or 0644: whoever reads files in a shard isn't who wrote them.
func readable(mode int64) int64 {
	if mode&0o111 != 0 {
		return 0o755
	}
	return 0o644
}
