package image

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
)

// maxEntries bounds how many files a package installs.
const maxEntries = 1 << 18

// program makes the layer of the app that comes as a Debian package. Of each package the newest is kept.
func (b *build) program(ctx context.Context) (entry, error) {
	d, what := b.plan.deb, b.plan.deb.name+" "+b.plan.deb.version
	name, input := "deb-"+d.name+"-"+b.plan.Arch, keyOf(d.hash, b.plan.client.program, b.plan.Epoch)
	if e, ok := b.cache.load(name, input); ok {
		b.report.emit(Event{Step: StepPackage, Detail: what, Bytes: e.Size, Total: e.Size, Cached: true, Done: true})
		return e, nil
	}
	e, err := b.cache.store(ctx, name, func(w io.Writer) (entry, error) {
		err := writeDeb(b.report.meter(w, StepPackage, 0), d.path, b.plan.client.program, b.plan.Epoch)
		if err == nil {
			err = d.unchanged()
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", d.path, err)
		}
		return entry{Input: input}, err
	})
	if err == nil {
		b.report.emit(Event{Step: StepPackage, Detail: what, Bytes: e.Size, Total: e.Size, Done: true})
	}
	return e, err
}

// writeDeb writes what a package installs as a layer. All of it, the folders above it included, becomes
// root's and readable, as an overlay's.
func writeDeb(w io.Writer, file, program string, epoch int64) error {
	f, err := openFile(file)
	if err != nil {
		return err
	}
	defer f.Close()
	r, closeTar, err := debTar(f, "data.tar", maxData)
	if err != nil {
		return err
	}
	defer closeTar()
	l := &debLayer{out: newLayerWriter(w, epoch), seen: map[string]debEntry{}, left: maxData}
	for tr := tar.NewReader(r); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("%w: data.tar: %w", ErrPackage, err)
		}
		if err := l.add(h, tr); err != nil {
			return err
		}
	}
	// Checksums come after the last file.
	if _, err := io.Copy(io.Discard, r); err != nil {
		return fmt.Errorf("%w: data.tar: %w", ErrPackage, err)
	}
	if err := l.runs(program); err != nil {
		return err
	}
	return l.out.close()
}

// debLayer is a package's files on their way into a layer.
type debLayer struct {
	out  *layerWriter
	seen map[string]debEntry
	// left is how many bytes files may still have.
	left int64
}

// debEntry is what a package has at a path.
type debEntry struct {
	kind       byte // a tar's type flag
	executable bool
	target     string
}

func (l *debLayer) add(h *tar.Header, body io.Reader) error {
	name, err := debPath(h.Name)
	if err != nil || name == "" || hiddenBy(name) != "" {
		return err
	}
	if err := l.enter(name, debEntry{h.Typeflag, h.Mode&0o111 != 0, h.Linkname}); err != nil {
		return err
	}
	if err := l.out.parents(name); err != nil {
		return err
	}
	switch h.Typeflag {
	case tar.TypeDir:
		if l.out.made[name] {
			return nil
		}
		return l.out.dir(name, 0o755, 0, 0)
	case tar.TypeSymlink:
		return l.out.symlink(name, h.Linkname)
	case tar.TypeLink:
		return l.hardlink(name, h.Linkname)
	case tar.TypeReg:
		// Of a sparse file the size is what it would be when written out.
		if l.left -= h.Size; l.left < 0 {
			return fmt.Errorf("%w: its files have more than %d bytes", ErrPackage, int64(maxData))
		}
		if err := l.out.file(name, readable(h.Mode), h.Size, body); err != nil {
			return fmt.Errorf("%w: data.tar: /%s: %w", ErrPackage, name, err)
		}
		return nil
	}
	return checkHeader(&tar.Header{Typeflag: h.Typeflag, Name: name}) // refused by name
}

// enter takes down what is at a path. A path is there once, and below folders only: what goes through a
// link of the package's own could end anywhere.
func (l *debLayer) enter(name string, e debEntry) error {
	if len(l.seen) >= maxEntries {
		return fmt.Errorf("%w: it has more than %d files", ErrPackage, maxEntries)
	}
	for d := path.Dir(name); d != "."; d = path.Dir(d) {
		if above, ok := l.seen[d]; ok && above.kind != tar.TypeDir {
			return fmt.Errorf("%w: /%s lies below /%s, which is no folder", ErrUnsafe, name, d)
		}
		l.seen[d] = debEntry{kind: tar.TypeDir}
	}
	if before, ok := l.seen[name]; ok && (before.kind != tar.TypeDir || e.kind != tar.TypeDir) {
		return fmt.Errorf("%w: /%s is there twice", ErrUnsafe, name)
	}
	l.seen[name] = e
	return nil
}

// hardlink gives a file of the package a second name.
func (l *debLayer) hardlink(name, target string) error {
	to, err := debPath(target)
	if err != nil {
		return err
	}
	first := l.seen[to]
	if first.kind != tar.TypeReg {
		return fmt.Errorf("%w: /%s is a hard link to %s, which isn't a file before it in the package", ErrUnsafe, name, target)
	}
	l.seen[name] = first
	return l.out.add(&tar.Header{Typeflag: tar.TypeLink, Name: name, Linkname: to}, nil)
}

// maxLinks is how many links lead to a program, at most.
const maxLinks = 8

// runs checks that program is there and executable, maybe behind links.
func (l *debLayer) runs(program string) error {
	name := program
	for range maxLinks {
		e, ok := l.seen[name]
		switch {
		case !ok && name == program:
			return fmt.Errorf("%w: it doesn't install /%s, the app that the client starts", ErrPackage, program)
		case ok && e.kind == tar.TypeSymlink:
			name = linked(name, e.target)
			continue
		case ok && e.kind == tar.TypeReg && e.executable:
			return nil
		}
		return fmt.Errorf("%w: its /%s leads to /%s, which isn't a program in it", ErrPackage, program, name)
	}
	return fmt.Errorf("%w: its /%s is a link that leads nowhere", ErrPackage, program)
}

// linked is where a link leads, as a path in a layer.
func linked(name, target string) string {
	if !path.IsAbs(target) {
		target = path.Join("/", path.Dir(name), target)
	}
	return merged(strings.TrimPrefix(path.Clean(target), "/"))
}

// debPath is where a file of a package goes, "" for the root itself.
func debPath(name string) (string, error) {
	if path.IsAbs(name) {
		return "", fmt.Errorf("%w: the package has the absolute path %q", ErrUnsafe, name)
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." || strings.HasPrefix(part, whiteout) {
			return "", fmt.Errorf("%w: the package has the path %q", ErrUnsafe, name)
		}
	}
	if name = path.Clean(name); name == "." {
		return "", nil
	}
	return merged(name), nil
}
