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
	got = strings.Join(t.propagating(), ", ")
	c.add("mounts:propagation", got == "", "", got)
}

// check adds "mount:PATH" for the type, and one check for each option.
func (t mountTable) check(c *checks, m Mount) {
	name := "mount:" + m.Path
	got := t[m.Path]
	if m.Type != "" {
		c.add(name, sameType(m.Type, fsType(got)), m.Type, fsType(got))
	}
	options := mountOptions(got)
	if m.Type == "cgroup" && fsType(got) == "tmpfs" {
		options = t.commonOptions(m.Path)
	}
	for _, o := range m.Options {
		c.add(name+":"+o, slices.Contains(options, o), o, strings.Join(options, ","))
	}
}

// sameType takes any version of a cgroup file system. v1's is a tmpfs, root's, that may stay
// writable, with a mount for each controller below it.
func sameType(want, got string) bool {
	if want == "cgroup" {
		return got == "cgroup" || got == "cgroup2" || got == "tmpfs"
	}
	return want == got
}

// fsType names what is mounted; a part of a tmpfs is the engine machine's, bound in.
func fsType(m *mountinfo.Info) string {
	switch {
	case m == nil:
		return "no mount"
	case m.FSType == "tmpfs" && m.Root != "/":
		return "bind of " + m.Root
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

// commonOptions are those that every mount below a path has.
func (t mountTable) commonOptions(dir string) []string {
	var common []string
	first := true
	for p, m := range t {
		if !strings.HasPrefix(p, dir+"/") {
			continue
		}
		options := mountOptions(m)
		if first {
			common, first = options, false
		}
		common = slices.DeleteFunc(slices.Clone(common), func(o string) bool { return !slices.Contains(options, o) })
	}
	return common
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

// propagating gives the mounts that later mounts on the engine's machine would show up in.
func (t mountTable) propagating() []string {
	var found []string
	for p, m := range t {
		if strings.Contains(m.Optional, "shared:") || strings.Contains(m.Optional, "master:") {
			found = append(found, p+" ("+m.Optional+")")
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
