package archive

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"
)

// Pack writes name, a file or a folder below root, as a tar stream. A folder's entries are named
// relative to it; a file is one entry with its own base name. Sockets, pipes and devices are left
// out, and so are temporary files that vanish meanwhile. Nothing outside root is ever read. What may
// not be read, and what has a name that is no text, costs the rest nothing: the stream is whole
// without it, and ErrLeftOut names the first.
func Pack(w io.Writer, root *os.Root, name string) error {
	p := packer{root: root, tar: tar.NewWriter(w), buf: make([]byte, copyBuffer)}
	info, err := root.Stat(name)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		err = p.file(name, path.Base(name))
	} else {
		err = p.folder(name)
	}
	if err != nil {
		return err
	}
	if err := p.tar.Close(); err != nil {
		return err
	}
	return p.leftOut
}

type packer struct {
	root    *os.Root
	tar     *tar.Writer
	buf     []byte
	leftOut error
}

func (p *packer) folder(name string) error {
	sub, err := p.root.OpenRoot(name)
	if err != nil {
		return err
	}
	defer sub.Close()
	inner := packer{root: sub, tar: p.tar, buf: p.buf}
	err = fs.WalkDir(sub.FS(), ".", func(entry string, d fs.DirEntry, err error) error {
		if !fs.ValidPath(entry) {
			return inner.leave(entry, d, fs.ErrInvalid)
		}
		if err == nil {
			err = inner.entry(entry, d)
		}
		switch {
		case entry == ".":
			return err
		case errors.Is(err, fs.ErrNotExist): // vanished
			return nil
		case errors.Is(err, fs.ErrPermission):
			return inner.leave(entry, d, err)
		}
		return err
	})
	p.leftOut = inner.leftOut
	return err
}

// leave goes on without an entry and what is below it.
func (p *packer) leave(entry string, d fs.DirEntry, why error) error {
	if p.leftOut == nil {
		p.leftOut = fmt.Errorf("%w: %.200q: %w", ErrLeftOut, entry, why)
	}
	return skip(d)
}

func (p *packer) entry(name string, d fs.DirEntry) error {
	switch {
	case name == ".":
		return nil
	case d.IsDir():
		info, err := d.Info()
		if err != nil {
			return err
		}
		return p.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: int64(info.Mode().Perm())})
	case d.Type() == fs.ModeSymlink:
		return p.link(name)
	case d.Type().IsRegular():
		return p.file(name, name)
	}
	return nil
}

// link packs a link that stays inside; another one is left out, since no Unpack would take it.
func (p *packer) link(name string) error {
	target, err := p.root.Readlink(name)
	if err != nil {
		return err
	}
	if localLink(name, target) != nil {
		return nil //nolint:nilerr // left out on purpose
	}
	return p.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target, Mode: 0o777})
}

func (p *packer) file(name, as string) error {
	// O_NONBLOCK: a named pipe put here meanwhile must not hold us up.
	f, err := p.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	h := &tar.Header{Typeflag: tar.TypeReg, Name: as, Size: info.Size(), Mode: int64(info.Mode().Perm())}
	if err := p.tar.WriteHeader(h); err != nil {
		return err
	}
	// The structs hide WriteTo and ReadFrom, which would copy 32 KiB at a time.
	n, err := io.CopyBuffer(struct{ io.Writer }{p.tar}, struct{ io.Reader }{io.LimitReader(f, info.Size())}, p.buf)
	if err == nil && n < info.Size() {
		err = fmt.Errorf("%w: %.200q", ErrChanged, name)
	}
	return err
}
