package selfcheck

import (
	"os"
	"path"
	"path/filepath"
	"strings"
)

// cgroup is what of the shard's own cgroups can be seen under /sys/fs/cgroup.
type cgroup struct {
	mount string
	v2    bool
	// paths are this process's cgroup by controller; "" is v2's.
	paths map[string]string
}

func openCgroup(root string) cgroup {
	g := cgroup{mount: filepath.Join(root, "sys/fs/cgroup"), paths: map[string]string{}}
	_, err := os.Stat(filepath.Join(g.mount, "cgroup.controllers"))
	g.v2 = err == nil
	text, _ := os.ReadFile(filepath.Join(root, "proc/self/cgroup"))
	for line := range strings.Lines(string(text)) {
		// hierarchy:controllers:path
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) != 3 {
			continue
		}
		for controller := range strings.SplitSeq(f[1], ",") {
			g.paths[controller] = f[2]
		}
	}
	return g
}

// values reads a file in this process's cgroup and in all above it that can be seen, nearest first.
func (g cgroup) values(controller, v2, v1 string) []string {
	base, file, own := g.mount, v2, g.paths[""]
	if !g.v2 {
		base, file, own = filepath.Join(g.mount, controller), v1, g.paths[controller]
	}
	var found []string
	// A path outside the cgroup namespace starts with "/..", which Clean cuts off.
	for dir := path.Clean("/" + own); ; dir = path.Dir(dir) {
		if b, err := os.ReadFile(filepath.Join(base, dir, file)); err == nil {
			found = append(found, strings.TrimSpace(string(b)))
		}
		if dir == "/" {
			return found
		}
	}
}

// swap reads the limit that swap has of its own; on v1 it's that of memory and swap together.
func (g cgroup) swap() []string {
	return g.values("memory", "memory.swap.max", "memory.memsw.limit_in_bytes")
}

// swapAllowed is the highest value of swap that allows none.
func (g cgroup) swapAllowed(memory int64) int64 {
	if g.v2 {
		return 0
	}
	return memory
}
