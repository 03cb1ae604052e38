package capacity

import (
	"bufio"
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
)

// Local is this machine's memory: free is what the kernel can give without swapping (MemAvailable of
// proc(5)). Where this process's cgroup, or one above it, has less, as in a container, that counts. An
// error where there is no /proc.
func Local() (Memory, error) {
	root := os.DirFS("/")
	m, err := meminfo(root)
	if err != nil {
		return Memory{}, err
	}
	return within(root, m), nil
}

// Whole is Local without regard to cgroups: for an engine that is outside of this process's container.
func Whole() (Memory, error) { return meminfo(os.DirFS("/")) }

func meminfo(root fs.FS) (Memory, error) {
	b, err := fs.ReadFile(root, "proc/meminfo")
	if err != nil {
		return Memory{}, err
	}
	return Meminfo(b)
}

// Meminfo reads a machine's memory from the text of its /proc/meminfo.
func Meminfo(text []byte) (Memory, error) {
	f := fields(text, ":")
	m := Memory{Total: f["MemTotal"] << 10, Free: f["MemAvailable"] << 10}
	if m.Total == 0 {
		return Memory{}, fmt.Errorf("/proc/meminfo doesn't tell MemTotal")
	}
	return m, nil
}

// fields reads lines "name value", with cut between, whose value begins with a number; others are left out.
func fields(text []byte, cut string) map[string]int64 {
	m := map[string]int64{}
	for s := bufio.NewScanner(bytes.NewReader(text)); s.Scan(); {
		name, value, _ := strings.Cut(s.Text(), cut)
		if words := strings.Fields(value); len(words) > 0 {
			if n, err := strconv.ParseInt(words[0], 10, 64); err == nil {
				m[name] = n
			}
		}
	}
	return m
}

// hierarchy is where a version of cgroups has a group's memory.
type hierarchy struct{ mount, limit, usage, idle string }

var (
	v1 = hierarchy{"sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"}
	v2 = hierarchy{"sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"}
)

// within narrows m to what the cgroups of this process leave of it.
func within(root fs.FS, m Memory) Memory {
	h, group := ownGroup(root)
	for ; ; group = path.Dir(group) {
		if g, ok := h.read(root, path.Join(h.mount, group)); ok {
			m.Total, m.Free = min(m.Total, g.Total), min(m.Free, g.Free)
		}
		if group == "/" || group == "." {
			return m
		}
	}
}

// ownGroup is the path of this process's memory cgroup. In a container it may be one that the container
// doesn't see; the mount's root is the container's then.
func ownGroup(root fs.FS) (hierarchy, string) {
	h, group := v2, "/"
	b, _ := fs.ReadFile(root, "proc/self/cgroup")
	for line := range strings.Lines(string(b)) {
		id, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, p, _ := strings.Cut(rest, ":")
		switch {
		case controllers == "memory":
			return v1, path.Clean("/" + p)
		case id == "0":
			group = path.Clean("/" + p)
		}
	}
	return h, group
}

// read gives a group's limit and what is left of it, false for one without. What it only keeps of files
// that it read counts as free, as it does in MemAvailable.
func (h hierarchy) read(root fs.FS, dir string) (Memory, bool) {
	limit, err := number(root, path.Join(dir, h.limit))
	if err != nil {
		return Memory{}, false // also "max"
	}
	usage, err := number(root, path.Join(dir, h.usage))
	if err != nil {
		return Memory{}, false
	}
	stat, _ := fs.ReadFile(root, path.Join(dir, "memory.stat"))
	used := max(0, usage-fields(stat, " ")[h.idle])
	return Memory{Total: limit, Free: max(0, limit-used)}, true
}

func number(root fs.FS, file string) (int64, error) {
	b, err := fs.ReadFile(root, file)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
}
