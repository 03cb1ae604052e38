package probe

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// list gives all that is below a folder, as JSON: an Entry each, by its path there.
func list(_ context.Context, args []string, s Stdio) (int, error) {
	all := map[string]Entry{}
	err := filepath.WalkDir(args[0], func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == args[0] {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		e := Entry{Mode: info.Mode().String()}
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			e.UID, e.GID = st.Uid, st.Gid
		}
		if info.Mode().IsRegular() {
			e.Size = info.Size()
		}
		if info.Mode().Type() == fs.ModeSymlink {
			if e.Link, err = os.Readlink(p); err != nil {
				return err
			}
		}
		rel, err := filepath.Rel(args[0], p)
		all[rel] = e
		return err
	})
	if err != nil {
		return 1, err
	}
	return 0, json.NewEncoder(s.Stdout).Encode(all)
}
