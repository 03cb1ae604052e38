package image

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/mikelolasagasti/xz"
)

const (
	// maxControl bounds what a package says of itself, unpacked, in bytes.
	maxControl = 16 << 20
	// maxData bounds what a package installs, unpacked, in bytes: ten times a large desktop app.
	maxData = 8 << 30
	// maxWindow bounds the memory that an xz or zstd stream may ask for; dpkg-deb's largest is 128 MiB.
	maxWindow = 128 << 20
)

// deb is a Debian package from a file of the user's. Nothing vouches for it, so it's read as an
// enemy's: by kind and size, here in Go. Nothing out of it is run, its maintainer scripts included.
type deb struct {
	control
	path string
	// hash is the file's hex sha256.
	hash string
}

// openDeb reads what a package for an architecture (GOARCH) says of itself.
func openDeb(name, arch string) (*deb, error) {
	d := &deb{path: name}
	f, err := openFile(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if d.hash, _, err = sumReader(f); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPackage, err)
	}
	if err := d.readControl(f, arch); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return d, nil
}

// openFile opens a package, which is read more than once: a pipe has nobody wait for who writes to it.
func openFile(name string) (*os.File, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPackage, err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: %s isn't a file", ErrPackage, name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPackage, err)
	}
	return f, nil
}

// unchanged fails unless the file is still what openDeb read: by that hash its layer is found again.
func (d *deb) unchanged() error {
	f, err := openFile(d.path)
	if err != nil {
		return err
	}
	defer f.Close()
	hash, _, err := sumReader(f)
	if err == nil && hash != d.hash {
		err = errors.New("it changed while it was read: set up again")
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrPackage, err)
	}
	return nil
}

func (d *deb) readControl(f *os.File, arch string) error {
	r, closeTar, err := debTar(f, "control.tar", maxControl)
	if err != nil {
		return err
	}
	defer closeTar()
	for tr := tar.NewReader(r); ; {
		h, err := tr.Next()
		if err != nil {
			return fmt.Errorf("%w: no control file in it: %w", ErrPackage, cutShort(err))
		}
		if path.Clean(h.Name) != "control" || h.Typeflag != tar.TypeReg {
			continue
		}
		text, err := io.ReadAll(tr)
		if err != nil {
			return fmt.Errorf("%w: its control file: %w", ErrPackage, err)
		}
		d.control, err = parseControl(string(text), arch)
		return err
	}
}

// debTar opens control.tar or data.tar, in whichever compression it has.
func debTar(f *os.File, name string, limit int64) (io.Reader, func(), error) {
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	members, err := arMembers(f, info.Size())
	if err != nil {
		return nil, nil, err
	}
	if err := debVersion(f, members); err != nil {
		return nil, nil, err
	}
	for _, m := range members {
		how, ok := strings.CutPrefix(m.name, name)
		if !ok {
			continue
		}
		r, done, err := decompress(io.NewSectionReader(f, m.offset, m.size), how)
		if err != nil {
			return nil, nil, fmt.Errorf("%w: %s: %w", ErrPackage, m.name, err)
		}
		return &bounded{r: r, left: limit, name: m.name}, done, nil
	}
	return nil, nil, fmt.Errorf("%w: no %s in it", ErrPackage, name)
}

// debVersion checks that it's a package of the format that dpkg has written since 1995.
func debVersion(f *os.File, members []member) error {
	b := make([]byte, 2)
	if len(members) > 0 && members[0].name == "debian-binary" {
		_, _ = f.ReadAt(b, members[0].offset) // it was found whole
	}
	if string(b) != "2." {
		return fmt.Errorf("%w: an archive, and not a Debian package", ErrPackage)
	}
	return nil
}

func decompress(r io.Reader, how string) (io.Reader, func(), error) {
	nothing := func() {}
	switch how {
	case "":
		return r, nothing, nil
	case ".gz":
		z, err := gzip.NewReader(r)
		return z, nothing, err
	case ".xz":
		z, err := xz.NewReader(bufio.NewReader(r), maxWindow)
		return z, nothing, err
	case ".zst":
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, nil, err
		}
		return z, z.Close, nil
	}
	return nil, nil, errors.New("this compression isn't known here: gz, xz, zst or none")
}

// bounded reads up to left bytes, and fails where there are more.
type bounded struct {
	r    io.Reader
	left int64
	name string
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("%s unpacks to more than berth takes", b.name)
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

// cutShort names the end of a tar where more was to come.
func cutShort(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
