package selfcheck

import (
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// devices are those that the runtime spec gives every Linux container (config-linux.md, "Default
// Devices"), by number.
var devices = map[string]uint64{
	"/dev/null":    unix.Mkdev(1, 3),
	"/dev/zero":    unix.Mkdev(1, 5),
	"/dev/full":    unix.Mkdev(1, 7),
	"/dev/random":  unix.Mkdev(1, 8),
	"/dev/urandom": unix.Mkdev(1, 9),
	"/dev/tty":     unix.Mkdev(5, 0),
}

// devEntries is what may be in /dev beside devices: mounts, links to /proc/self/fd, and the console's
// and ptmx's own files where they are no devices.
var devEntries = []string{"console", "core", "fd", "mqueue", "ptmx", "pts", "shm", "stderr", "stdin", "stdout"}

func checkDevices(c *checks, _ Expect) {
	entries, err := os.ReadDir("/dev")
	var others []string
	for _, e := range entries {
		p := "/dev/" + e.Name()
		var st unix.Stat_t
		if unix.Lstat(p, &st) != nil || !inDev(p, st.Mode, st.Rdev) {
			others = append(others, p)
		}
	}
	c.equal("devices", "", strings.Join(others, " "), err)
}

// inDev tells whether an entry of /dev is one that a shard may have: no device hides behind a name.
func inDev(p string, mode uint32, rdev uint64) bool {
	switch mode & unix.S_IFMT {
	case unix.S_IFCHR:
		return isStandard(p, rdev) || p == "/dev/ptmx" && rdev == unix.Mkdev(5, 2)
	case unix.S_IFBLK:
		return false
	}
	return slices.Contains(devEntries, strings.TrimPrefix(p, "/dev/"))
}

// isDevice tells whether a path is the standard device of its name, or a pseudo-terminal as console.
func isDevice(p string) bool {
	var st unix.Stat_t
	return unix.Lstat(p, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFCHR && isStandard(p, st.Rdev)
}

func isStandard(p string, rdev uint64) bool {
	if p == "/dev/console" {
		return isPTY(rdev)
	}
	number, ok := devices[p]
	return ok && rdev == number
}

// isPTY tells a pseudo-terminal by its major numbers (Documentation/admin-guide/devices.txt).
func isPTY(rdev uint64) bool {
	major := unix.Major(rdev)
	return major >= 136 && major <= 143
}

// isNull tells whether a path is the null device, whatever it is called.
func isNull(p string) bool {
	var st unix.Stat_t
	return unix.Lstat(p, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFCHR && st.Rdev == devices["/dev/null"]
}
