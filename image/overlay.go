package image

import (
	"archive/tar"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// overlay makes the layer of the user's directory. A path's newest content is the only one kept.
func (b *build) overlay(ctx context.Context) (entry, error) {
	abs, err := filepath.Abs(b.plan.Overlay)
	if err != nil {
		return entry{}, err
	}
	name, input := "overlay-"+keyOf(abs), keyOf(b.plan.overlayHash, b.plan.Epoch)
	if e, ok := b.cache.load(name, input); ok {
		b.report.emit(Event{Step: StepOverlay, Bytes: e.Size, Total: e.Size, Cached: true, Done: true})
		return e, nil
	}
	e, err := b.cache.store(ctx, name, func(w io.Writer) (entry, error) {
		return entry{Input: input}, writeOverlay(b.report.meter(w, StepOverlay, 0), abs, b.plan.Epoch)
	})
	if err == nil {
		b.report.emit(Event{Step: StepOverlay, Bytes: e.Size, Total: e.Size, Done: true})
	}
	return e, err
}

// hashOverlay hashes what the overlay's layer would hold.
func hashOverlay(dir string) (string, error) {
	s := newSum(io.Discard)
	if err := writeOverlay(s, dir, 0); err != nil {
		return "", err
	}
	return s.digest(), nil
}

// writeOverlay writes dir as a layer: all of it root's, readable and without time stamps.
func writeOverlay(w io.Writer, dir string, epoch int64) error {
	out := newLayerWriter(w, epoch)
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("%w: overlay: %w", ErrRecipe, err)
	}
	defer root.Close()
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("%w: overlay: %w", ErrRecipe, err)
		}
		if name == "." {
			return nil
		}
		return overlayEntry(out, root, name, d)
	})
	if err != nil {
		return err
	}
	return out.close()
}

func overlayEntry(out *layerWriter, root *os.Root, name string, d fs.DirEntry) error {
	to, err := overlayPath(name)
	if err != nil {
		return err
	}
	info, err := d.Info()
	if err != nil {
		return err
	}
	switch {
	case d.IsDir():
		return out.dir(to, 0o755, 0, 0)
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := root.Readlink(name)
		if err != nil {
			return err
		}
		return out.symlink(to, target)
	case info.Mode().IsRegular():
		f, err := root.Open(name)
		if err != nil {
			return fmt.Errorf("%w: overlay: %w", ErrRecipe, err)
		}
		defer f.Close()
		return out.file(to, readable(int64(info.Mode().Perm())), info.Size(), f)
	}
	return out.add(&tar.Header{Typeflag: tar.TypeFifo, Name: name}, nil) // refused by name
}

// overlayPath is where a file of the overlay goes.
func overlayPath(name string) (string, error) {
	if h := hiddenBy(name); h != "" {
		return "", fmt.Errorf("%w: overlay: /%s is mounted anew in each shard, so /%s would not be seen: put it below /opt, say", ErrRecipe, h, name)
	}
	if strings.HasPrefix(filepath.Base(name), whiteout) {
		return "", fmt.Errorf("%w: overlay: the name /%s is reserved in image layers", ErrRecipe, name)
	}
	return merged(name), nil
}
