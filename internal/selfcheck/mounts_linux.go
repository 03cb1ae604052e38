package selfcheck

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// engineFiles are what every engine puts over an image's own; the shard's user must not be able to
// write them.
var engineFiles = []string{"/etc/hosts", "/etc/hostname", "/etc/resolv.conf", "/run/.containerenv"}

// mountTable is the mounts of the shard by path; of several on one path the last is the visible one.
type mountTable map[string]*mountinfo.Info

func readMounts() (mountTable, error) {
	infos, err := mountinfo.GetMounts(nil)
	if err != nil {
		return nil, err
	}
	t := mountTable{}
	for _, i := range infos {
		t[i.Mountpoint] = i
	}
	return t, nil
}

func checkMounts(c *checks, e Expect) {
	t, err := readMounts()
	if err != nil {
		c.add("mounts", false, "readable", err.Error())
		return
	}
	if e.ReadOnlyRoot {
		t.check(c, Mount{Path: "/", Options: []string{"ro"}})
	}
	for _, m := range e.Mounts {
		t.check(c, m)
	}
	for _, m := range e.Tmpfs {
		t.checkTmpfs(c, m)
	}
	got := strings.Join(t.unexpected(e), ", ")
	c.add("mounts:unexpected", got == "", "", got)
}

// check adds "mount:PATH" for the type, and one check for each option.
func (t mountTable) check(c *checks, m Mount) {
	name := "mount:" + m.Path
	got := t[m.Path]
	if m.Type != "" {
		c.add(name, got != nil && sameType(m.Type, got.FSType), m.Type, fsType(got))
	}
	for _, o := range m.Options {
		options := mountOptions(got)
		c.add(name+":"+o, slices.Contains(options, o), o, strings.Join(options, ","))
	}
}

// sameType takes any version of a cgroup file system; v1's is a tmpfs with one below it for each
// controller.
func sameType(want, got string) bool {
	if want == "cgroup" {
		return got == "cgroup" || got == "cgroup2" || got == "tmpfs"
	}
	return want == got
}

func fsType(m *mountinfo.Info) string {
	if m == nil {
		return "no mount"
	}
	return m.FSType
}

// mountOptions are those of the mount. A runtime may set ro on the file system instead.
func mountOptions(m *mountinfo.Info) []string {
	if m == nil {
		return nil
	}
	options := strings.Split(m.Options, ",")
	if slices.Contains(strings.Split(m.VFSOptions, ","), "ro") {
		options = append(options, "ro")
	}
	return options
}

// checkTmpfs adds the checks of t.check and "mount:PATH:size", ":mode", ":uid", ":gid", ":rw", and
// ":exec" where commands must be able to run.
func (t mountTable) checkTmpfs(c *checks, m Tmpfs) {
	t.check(c, Mount{Path: m.Path, Type: "tmpfs", Options: m.Options})
	name := "mount:" + m.Path
	options := mountOptions(t[m.Path])
	c.add(name+":rw", !slices.Contains(options, "ro"), "rw", strings.Join(options, ","))
	if !slices.Contains(m.Options, "noexec") {
		c.add(name+":exec", !slices.Contains(options, "noexec"), "exec", strings.Join(options, ","))
	}
	var fs unix.Statfs_t
	err := unix.Statfs(m.Path, &fs)
	c.equal(name+":size", fmt.Sprint(pages(m.Bytes)), fmt.Sprint(int64(fs.Blocks)*fs.Bsize), err)
	var st unix.Stat_t
	err = unix.Stat(m.Path, &st)
	c.equal(name+":mode", fmt.Sprintf("%04o", m.Mode), fmt.Sprintf("%04o", st.Mode&0o7777), err)
	c.equal(name+":uid", fmt.Sprint(m.UID), fmt.Sprint(st.Uid), err)
	c.equal(name+":gid", fmt.Sprint(m.GID), fmt.Sprint(st.Gid), err)
}

// pages rounds up to whole pages, as tmpfs does.
func pages(bytes int64) int64 {
	page := int64(os.Getpagesize())
	return (bytes + page - 1) / page * page
}

// unexpected gives every mount that the spec has no reason for, as "PATH (TYPE OPTIONS)".
func (t mountTable) unexpected(e Expect) []string {
	known := []string{"/"}
	for _, m := range e.Mounts {
		known = append(known, m.Path)
	}
	for _, m := range e.Tmpfs {
		known = append(known, m.Path)
	}
	var found []string
	for p, m := range t {
		if !slices.Contains(known, p) && !harmless(m) {
			found = append(found, fmt.Sprintf("%s (%s %s)", p, m.FSType, m.Options))
		}
	}
	slices.Sort(found)
	return found
}

// harmless tells whether a mount is one that only takes away, one of the standard devices, or an
// engine's own file.
func harmless(m *mountinfo.Info) bool {
	p := m.Mountpoint
	switch {
	case slices.Contains(engineFiles, p):
		return unix.Access(p, unix.W_OK) != nil && isRegular(p)
	case path.Dir(p) == "/dev":
		return isDevice(p)
	case strings.HasPrefix(p, "/proc/"), strings.HasPrefix(p, "/sys/"):
		return slices.Contains(mountOptions(m), "ro") || isNull(p)
	}
	return false
}

func isRegular(p string) bool {
	st, err := os.Lstat(p)
	return err == nil && st.Mode().IsRegular()
}
