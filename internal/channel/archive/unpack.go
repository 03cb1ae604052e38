package archive

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// Unpack writes a tar stream below root and reads it to its end. Permission bits are kept, set-id
// and sticky bits are not; a sparse file's holes become zeros. An entry named twice, one that leaves root, and one that is neither a
// file, a folder nor a link inside root end it with ErrHostile; what was unpacked by then stays, so
// give it a folder of its own and move that when it returns nil.
func Unpack(root *os.Root, r io.Reader, limits Limits) error {
	u := unpacker{root: root, left: limits.orDefault(), buf: make([]byte, copyBuffer)}
	t := tar.NewReader(r)
	for {
		h, err := t.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return fmt.Errorf("read tar stream: %w", err)
		}
		if err := u.entry(h, t); err != nil {
			return err
		}
	}
	if err := u.finish(); err != nil {
		return err
	}
	return padding(r, u.buf)
}

// padding reads what follows the end mark; a reader that stopped there would stall its writer.
func padding(r io.Reader, buf []byte) error {
	_, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, io.LimitReader(r, copyBuffer), buf)
	return err
}

type unpacker struct {
	root *os.Root
	left Limits
	buf  []byte
	dirs []dirMode
}

// dirMode is a folder's mode, set when everything below it is there: it may forbid writing.
type dirMode struct {
	name string
	mode fs.FileMode
}

func (u *unpacker) entry(h *tar.Header, r io.Reader) error {
	if h.Typeflag == tar.TypeXGlobalHeader {
		return nil
	}
	name, err := local(h.Name)
	if err != nil {
		return err
	}
	if u.left.Entries--; u.left.Entries < 0 {
		return fmt.Errorf("%w: too many entries", ErrTooLarge)
	}
	mode := fs.FileMode(h.Mode) & fs.ModePerm
	switch h.Typeflag {
	case tar.TypeDir:
		return u.dir(name, mode)
	case tar.TypeReg, tar.TypeGNUSparse:
		return u.file(name, mode, h.Size, r)
	case tar.TypeSymlink:
		return u.link(name, h.Linkname)
	default:
		return fmt.Errorf("%w: %.200q is of type %q", ErrHostile, h.Name, h.Typeflag)
	}
}

func (u *unpacker) dir(name string, mode fs.FileMode) error {
	if name != "." {
		if err := u.root.MkdirAll(name, 0o700); err != nil {
			return hostile(name, err)
		}
	}
	u.dirs = append(u.dirs, dirMode{name, mode})
	return nil
}

func (u *unpacker) parent(name string) error {
	if dir := path.Dir(name); dir != "." {
		return hostile(name, u.root.MkdirAll(dir, 0o700))
	}
	return nil
}

func (u *unpacker) file(name string, mode fs.FileMode, size int64, r io.Reader) error {
	if u.left.Bytes -= size; size < 0 || u.left.Bytes < 0 {
		return fmt.Errorf("%w: at %.200q", ErrTooLarge, name)
	}
	if err := u.parent(name); err != nil {
		return err
	}
	f, err := u.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return hostile(name, err)
	}
	// The struct hides ReadFrom, which would copy 32 KiB at a time.
	_, err = io.CopyBuffer(struct{ io.Writer }{f}, r, u.buf)
	if err == nil {
		err = f.Chmod(mode)
	}
	return errors.Join(err, f.Close())
}

func (u *unpacker) link(name, target string) error {
	if err := localLink(name, target); err != nil {
		return err
	}
	if err := u.parent(name); err != nil {
		return err
	}
	return hostile(name, u.root.Symlink(target, name))
}

// finish sets the folders' modes, the deepest first, so that one without write permission comes last.
func (u *unpacker) finish() error {
	slices.SortFunc(u.dirs, func(a, b dirMode) int { return strings.Count(b.name, "/") - strings.Count(a.name, "/") })
	for _, d := range u.dirs {
		if d.name == "." {
			continue
		}
		if err := u.root.Chmod(d.name, d.mode); err != nil {
			return hostile(d.name, err)
		}
	}
	return nil
}

// hostile names what a well-made stream can't cause: an entry twice, or one reached over a link
// that leads out.
func hostile(name string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, fs.ErrExist) || strings.Contains(err.Error(), "path escapes") {
		return fmt.Errorf("%w: %.200q: %w", ErrHostile, name, err)
	}
	return err
}
