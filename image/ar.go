package image

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
)

const (
	arMagic      = "!<arch>\n"
	arHeaderSize = 60
	arHeaderEnd  = "`\n"
	// maxMembers bounds an archive's directory; a Debian package has three or four.
	maxMembers = 16
)

// member is a file in an ar archive.
type member struct {
	name         string
	offset, size int64
}

// arMembers lists the files of an ar archive of size bytes, in the plain form that deb(5) asks for.
func arMembers(f io.ReaderAt, size int64) ([]member, error) {
	magic := make([]byte, len(arMagic))
	if _, err := f.ReadAt(magic, 0); err != nil || string(magic) != arMagic {
		return nil, fmt.Errorf("%w: it isn't a Debian package", ErrPackage)
	}
	var all []member
	for at := int64(len(arMagic)); at < size; {
		if len(all) == maxMembers {
			return nil, fmt.Errorf("%w: more than %d files in its archive", ErrPackage, maxMembers)
		}
		m, err := arHeader(f, at)
		if err != nil {
			return nil, err
		}
		if m.size > size-m.offset {
			return nil, fmt.Errorf("%w: it's cut short: %s should have %d bytes and has %d", ErrPackage, m.name, m.size, size-m.offset)
		}
		all = append(all, m)
		at = m.offset + m.size + m.size%2 // the next one starts at an even place
	}
	return all, nil
}

func arHeader(f io.ReaderAt, at int64) (member, error) {
	h := make([]byte, arHeaderSize)
	if _, err := f.ReadAt(h, at); err != nil {
		return member{}, fmt.Errorf("%w: it's cut short at byte %d", ErrPackage, at)
	}
	size, err := strconv.ParseInt(string(bytes.TrimRight(h[48:58], " ")), 10, 64)
	if err != nil || size < 0 || string(h[58:]) != arHeaderEnd {
		return member{}, fmt.Errorf("%w: no header of an archive's file at byte %d", ErrPackage, at)
	}
	name := strings.TrimSuffix(strings.TrimRight(string(h[:16]), " "), "/")
	return member{name: name, offset: at + arHeaderSize, size: size}, nil
}
