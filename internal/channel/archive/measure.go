package archive

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"syscall"
)

// Measured is what Pack would find at a name.
type Measured struct {
	Totals
	// Dir: it's a folder.
	Dir bool `json:"dir,omitempty"`
	// Plain: any packer would write what Pack does. No link is on the way there, and below are only
	// files that have one name each and may be read, folders, and links that stay inside.
	Plain bool `json:"plain,omitempty"`
}

// Measure looks at name, a file or a folder below root, without reading a file.
func Measure(root *os.Root, name string) (Measured, error) {
	m := Measured{Plain: !behindLink(root, name)}
	info, err := root.Stat(name)
	if err != nil {
		return m, err
	}
	if !info.IsDir() {
		m.add(path.Base(name), info, nil)
		return m, nil
	}
	m.Dir = true
	sub, err := root.OpenRoot(name)
	if err != nil {
		return m, err
	}
	defer sub.Close()
	err = fs.WalkDir(sub.FS(), ".", func(entry string, d fs.DirEntry, err error) error {
		if entry == "." {
			return err
		}
		if err == nil && fs.ValidPath(entry) {
			info, err = d.Info()
		}
		switch {
		case errors.Is(err, fs.ErrNotExist): // vanished
			return nil
		case errors.Is(err, fs.ErrPermission), !fs.ValidPath(entry): // Pack leaves it out
			m.Plain = false
			return skip(d)
		case err != nil:
			return err
		}
		m.add(entry, info, sub)
		return nil
	})
	return m, err
}

func skip(d fs.DirEntry) error {
	if d.IsDir() {
		return fs.SkipDir
	}
	return nil
}

func (m *Measured) add(name string, info fs.FileInfo, root *os.Root) {
	m.Entries++
	if info.Mode()&0o400 == 0 {
		m.Plain = false // an engine reads what its owner here may not
	}
	switch info.Mode().Type() {
	case 0:
		m.Bytes += info.Size()
		st, ok := info.Sys().(*syscall.Stat_t)
		m.Plain = m.Plain && ok && st.Nlink == 1
	case fs.ModeDir:
	case fs.ModeSymlink:
		target, err := root.Readlink(name)
		m.Plain = m.Plain && err == nil && localLink(name, target) == nil
	default:
		m.Plain = false
	}
}

// behindLink tells whether name, or a folder on the way there, is a link or can't be looked at.
func behindLink(root *os.Root, name string) bool {
	for ; name != "."; name = path.Dir(name) {
		info, err := root.Lstat(name)
		if err != nil || info.Mode().Type() == fs.ModeSymlink {
			return true
		}
	}
	return false
}
