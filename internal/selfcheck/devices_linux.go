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

// devEntries is what may be in /dev beside devices: mounts, links to /proc/self/fd, and the console,
// which is a pseudo-terminal when there is one.
var devEntries = []string{"console", "core", "fd", "mqueue", "ptmx", "pts", "shm", "stderr", "stdin", "stdout"}

func checkDevices(c *checks, _ Expect) {
	entries, err := os.ReadDir("/dev")
	var others []string
	for _, e := range entries {
		p := "/dev/" + e.Name()
		if !isDevice(p) && !slices.Contains(devEntries, e.Name()) {
			others = append(others, p)
		}
	}
	c.equal("devices", "", strings.Join(others, " "), err)
}

// isDevice tells whether a path is the standard device of its name, or a pseudo-terminal as console.
func isDevice(p string) bool {
	var st unix.Stat_t
	if unix.Lstat(p, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFCHR {
		return false
	}
	if p == "/dev/console" {
		return isPTY(st.Rdev)
	}
	number, ok := devices[p]
	return ok && st.Rdev == number
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
