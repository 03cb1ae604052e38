package private

import (
	"io/fs"
	"os"
	"path/filepath"
)

// RemoveAll takes a folder away with all that is in it. A folder that the agent made unwritable is made
// writable first.
func RemoveAll(dir string) error {
	if err := os.RemoveAll(dir); err == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700) // RemoveAll tells what this couldn't help
		}
		return nil
	})
	return os.RemoveAll(dir)
}
