package archive

import (
	"archive/tar"
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"time"
)

// Totals are how much a tar stream holds, without the folder itself.
type Totals struct {
	Entries int   `json:"entries"`
	Bytes   int64 `json:"bytes"`
}

// Copy passes a tar stream on to something that takes more than Unpack does: it ends with the same
// errors at the same entries, before it has written them. What it writes is as Unpack would have made
// it: permission bits only, folders that aren't named are 0700, and everything is new. It reads r to its end.
func Copy(w io.Writer, r io.Reader, limits Limits) (Totals, error) {
	out := bufio.NewWriterSize(struct{ io.Writer }{w}, copyBuffer/4)
	c := copier{
		from: tar.NewReader(r), to: tar.NewWriter(out), left: limits.orDefault(),
		buf: make([]byte, copyBuffer), kinds: map[string]byte{".": tar.TypeDir}, now: time.Now().Truncate(time.Second),
	}
	for {
		h, err := c.from.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return c.did, fmt.Errorf("read tar stream: %w", err)
		}
		if err := c.entry(h); err != nil {
			return c.did, err
		}
	}
	if err := errors.Join(c.to.Close(), out.Flush()); err != nil {
		return c.did, err
	}
	return c.did, padding(r, c.buf)
}

type copier struct {
	from *tar.Reader
	to   *tar.Writer
	left Limits
	buf  []byte
	// kinds are the entries so far; implied is that of a folder that was only in a name.
	kinds map[string]byte
	did   Totals
	now   time.Time
}

const implied = 0

func (c *copier) entry(h *tar.Header) error {
	if h.Typeflag == tar.TypeXGlobalHeader {
		return nil
	}
	name, err := local(h.Name)
	if err != nil {
		return err
	}
	if name == "." && h.Typeflag == tar.TypeDir {
		return nil
	}
	c.left.Entries--
	c.left.Bytes -= h.Size
	if c.left.Entries < 0 || c.left.Bytes < 0 || h.Size < 0 {
		return fmt.Errorf("%w: at %.200q", ErrTooLarge, name)
	}
	if err := c.place(name, h); err != nil {
		return err
	}
	c.did.Entries++
	c.did.Bytes += h.Size
	typ := h.Typeflag
	if typ == tar.TypeGNUSparse {
		typ = tar.TypeReg
	}
	return c.write(&tar.Header{Typeflag: typ, Name: name, Linkname: h.Linkname, Mode: h.Mode & int64(fs.ModePerm), Size: h.Size})
}

// place refuses an entry that can't be where it wants to be, and makes the folders that it needs.
func (c *copier) place(name string, h *tar.Header) error {
	switch h.Typeflag {
	case tar.TypeDir, tar.TypeReg, tar.TypeGNUSparse:
	case tar.TypeSymlink:
		if err := localLink(name, h.Linkname); err != nil {
			return err
		}
	default:
		return fmt.Errorf("%w: %.200q is of type %q", ErrHostile, h.Name, h.Typeflag)
	}
	if kind, there := c.kinds[name]; there && (h.Typeflag != tar.TypeDir || kind != implied && kind != tar.TypeDir) {
		return fmt.Errorf("%w: %.200q is there twice", ErrHostile, name)
	}
	if err := c.parent(path.Dir(name)); err != nil {
		return err
	}
	c.kinds[name] = h.Typeflag
	return nil
}

// parent makes what isn't there, and refuses one that is no folder: behind a link could be anything.
func (c *copier) parent(dir string) error {
	switch kind, there := c.kinds[dir]; {
	case there && (kind == tar.TypeDir || kind == implied):
		return nil
	case there:
		return fmt.Errorf("%w: %.200q isn't a folder", ErrHostile, dir)
	}
	if err := c.parent(path.Dir(dir)); err != nil {
		return err
	}
	c.kinds[dir] = implied
	return c.write(&tar.Header{Typeflag: tar.TypeDir, Name: dir, Mode: 0o700})
}

func (c *copier) write(h *tar.Header) error {
	if h.Typeflag == tar.TypeDir {
		h.Name += "/"
	}
	h.ModTime = c.now
	if err := c.to.WriteHeader(h); err != nil {
		return err
	}
	if h.Size == 0 {
		return nil
	}
	// The structs hide WriteTo and ReadFrom, which would copy 32 KiB at a time.
	_, err := io.CopyBuffer(struct{ io.Writer }{c.to}, struct{ io.Reader }{c.from}, c.buf)
	return err
}
