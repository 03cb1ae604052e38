package image

import (
	"archive/tar"
	"fmt"
	"io"
	"path"
	"slices"
	"time"
)

// maxID is the first id that a rootless engine may not be able to map.
const maxID = 65536

// layerWriter writes a layer's tar: one time stamp, no names of owners, no extended attributes (so
// no file capabilities), no setuid or setgid bits. A daemon that needs a file capability can't be
// executed in a shard at all, and nothing in a shard may gain a right.
type layerWriter struct {
	tw    *tar.Writer
	epoch time.Time
	// made are the folders written by parents.
	made map[string]bool
}

func newLayerWriter(w io.Writer, epoch int64) *layerWriter {
	return &layerWriter{tw: tar.NewWriter(w), epoch: time.Unix(epoch, 0).UTC(), made: map[string]bool{}}
}

func (l *layerWriter) close() error { return l.tw.Close() }

// add writes one entry, cleaned. Times later than the epoch become the epoch; the zero time too.
func (l *layerWriter) add(h *tar.Header, body io.Reader) error {
	if err := checkHeader(h); err != nil {
		return err
	}
	clean := &tar.Header{
		Typeflag: h.Typeflag, Name: h.Name, Linkname: h.Linkname, Size: h.Size,
		Mode: h.Mode & 0o1777, Uid: h.Uid, Gid: h.Gid, ModTime: h.ModTime.Truncate(time.Second),
	}
	if h.ModTime.IsZero() || h.ModTime.After(l.epoch) {
		clean.ModTime = l.epoch
	}
	if err := l.tw.WriteHeader(clean); err != nil {
		return err
	}
	if clean.Typeflag != tar.TypeReg || clean.Size == 0 {
		return nil
	}
	_, err := io.Copy(l.tw, body)
	return err
}

func checkHeader(h *tar.Header) error {
	if h.Uid < 0 || h.Uid >= maxID || h.Gid < 0 || h.Gid >= maxID {
		return fmt.Errorf("%w: %s belongs to %d:%d, and rootless engines map ids below %d", ErrUnsafe, h.Name, h.Uid, h.Gid, maxID)
	}
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeDir, tar.TypeSymlink, tar.TypeLink:
		return nil
	}
	return fmt.Errorf("%w: %s is a device, socket or pipe", ErrUnsafe, h.Name)
}

func (l *layerWriter) dir(name string, mode int64, uid, gid int) error {
	l.made[name] = true
	return l.add(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: mode, Uid: uid, Gid: gid}, nil)
}

func (l *layerWriter) file(name string, mode, size int64, body io.Reader) error {
	return l.add(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: size}, body)
}

func (l *layerWriter) symlink(name, target string) error {
	return l.add(&tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target, Mode: 0o777}, nil)
}

// parents writes the folders above the names, root's and 0755, each once and in order.
func (l *layerWriter) parents(names ...string) error {
	var dirs []string
	for _, n := range names {
		for d := path.Dir(n); d != "."; d = path.Dir(d) {
			dirs = append(dirs, d)
		}
	}
	slices.Sort(dirs)
	for _, d := range slices.Compact(dirs) {
		if l.made[d] {
			continue
		}
		if err := l.dir(d, 0o755, 0, 0); err != nil {
			return err
		}
	}
	return nil
}
