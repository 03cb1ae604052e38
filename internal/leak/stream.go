package leak

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// Stream looks through r, and through what it's made of when it's packed: gzip, zstd, tar, and these
// within each other, as images have them.
func (s *Scanner) Stream(place string, r io.Reader) error {
	b := bufio.NewReaderSize(r, 64<<10)
	switch head, _ := b.Peek(tarMagicAt + len(tarMagic)); {
	case bytes.HasPrefix(head, []byte("\x1f\x8b\x08")):
		return s.gunzip(place, b)
	case bytes.HasPrefix(head, []byte("\x28\xb5\x2f\xfd")):
		return s.unzstd(place, b)
	case len(head) > tarMagicAt && string(head[tarMagicAt:]) == tarMagic:
		return s.untar(place, b)
	}
	return s.plain(place, b)
}

// Every tar that matters here, POSIX's and GNU's, has this in its first header.
const (
	tarMagic   = "ustar"
	tarMagicAt = 257
)

func (s *Scanner) gunzip(place string, r io.Reader) error {
	z, err := gzip.NewReader(r)
	if err != nil {
		return fmt.Errorf("%s: %w", place, err)
	}
	s.Text(place, z.Name+"\n"+z.Comment+"\n"+string(z.Extra))
	return s.Stream(place, z)
}

func (s *Scanner) unzstd(place string, r io.Reader) error {
	z, err := zstd.NewReader(r)
	if err != nil {
		return fmt.Errorf("%s: %w", place, err)
	}
	defer z.Close()
	return s.Stream(place, z)
}

// untar looks through names and attributes as well as contents.
func (s *Scanner) untar(place string, r io.Reader) error {
	t := tar.NewReader(r)
	for {
		h, err := t.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", place, err)
		}
		s.Text(place+": names", fmt.Sprintln(h.Name, h.Linkname, h.Uname, h.Gname, h.PAXRecords))
		if err := s.Stream(place+": "+h.Name, t); err != nil {
			return err
		}
	}
}
