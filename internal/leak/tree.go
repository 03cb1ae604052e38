package leak

import (
	"io/fs"
	"os"
	"path/filepath"
)

// Tree looks through all files below dir, their names and the targets of links. Places are dir's and
// the file's path within. A file that goes while it looks, as one that is written beside the one it replaces,
// has a name only.
func (s *Scanner) Tree(place, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if gone(err) && name != "." {
			return nil
		}
		if err != nil {
			return err
		}
		s.Text(place+": names", name)
		switch d.Type() {
		case 0:
			err = s.file(place+": "+name, root, name)
		case fs.ModeSymlink:
			var target string
			target, err = root.Readlink(name)
			s.Text(place+": names", target)
		}
		if gone(err) {
			return nil
		}
		return err
	})
}

func (s *Scanner) file(place string, root *os.Root, name string) error {
	f, err := root.Open(filepath.FromSlash(name))
	if err != nil {
		return err
	}
	defer f.Close()
	return s.Stream(place, f)
}
