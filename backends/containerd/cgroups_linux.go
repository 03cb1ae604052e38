package containerd

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

const cgroupRoot = "/sys/fs/cgroup"

// machineLimits looks at this machine's cgroups, which are the engine's. A rootless engine's shards have
// no cgroup of their own: containerd's runc would have to be told to ask the user's systemd for one.
func machineLimits(rootless bool) limits {
	var fs unix.Statfs_t
	l := limits{cgroup2: unix.Statfs(cgroupRoot, &fs) == nil && fs.Type == unix.CGROUP2_SUPER_MAGIC}
	if rootless {
		return l
	}
	if l.cgroup2 {
		b, _ := os.ReadFile(filepath.Join(cgroupRoot, "cgroup.controllers"))
		l.controllers = strings.Fields(string(b))
		return l
	}
	entries, _ := os.ReadDir(cgroupRoot)
	for _, e := range entries {
		for c := range strings.SplitSeq(e.Name(), ",") { // "cpu,cpuacct"
			if slices.Contains(wanted, c) && !slices.Contains(l.controllers, c) {
				l.controllers = append(l.controllers, c)
			}
		}
	}
	return l
}
