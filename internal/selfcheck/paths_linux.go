package selfcheck

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// checkPaths looks at the parts of /proc and /sys that are hidden or can't be written. A path that
// this kernel doesn't have passes.
func checkPaths(c *checks, e Expect) {
	t, err := readMounts()
	if err != nil {
		c.add("mounts", false, "readable", err.Error())
		return
	}
	for _, p := range e.MaskedPaths {
		got := t.masked(p)
		c.add("masked:"+p, got == "" || got == absent, "hidden", got)
	}
	for _, p := range e.ReadonlyPaths {
		got := readonly(p)
		c.add("readonly:"+p, got == "" || got == absent, "read-only", got)
	}
}

const absent = "absent"

// masked gives "" when a path is hidden: a file by /dev/null, a directory by an empty file system
// that can't be written. Being unreadable isn't enough, since that may be the file's own mode.
func (t mountTable) masked(p string) string {
	st, err := os.Lstat(p)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return absent
	case err != nil:
		return err.Error()
	case !st.IsDir() && isNull(p):
		return ""
	case !st.IsDir():
		return "visible"
	}
	m := t[p]
	if m == nil {
		return "visible"
	}
	if !slices.Contains(mountOptions(m), "ro") {
		return "writable"
	}
	entries, err := os.ReadDir(p)
	if err != nil && !errors.Is(err, os.ErrPermission) {
		return err.Error()
	}
	if len(entries) > 0 {
		return fmt.Sprintf("%d entries", len(entries))
	}
	return ""
}

// readonly gives "" when nothing can be written to the mount that a path is on.
func readonly(p string) string {
	var fs unix.Statfs_t
	err := unix.Statfs(p, &fs)
	switch {
	case errors.Is(err, unix.ENOENT):
		return absent
	case err != nil:
		return err.Error()
	case fs.Flags&unix.ST_RDONLY == 0:
		return "writable"
	}
	return ""
}
