package containerd

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// limits say which cgroup controllers can hold a shard's.
type limits struct {
	cgroup2     bool
	controllers []string
}

// grouping says where shards have their cgroups, who makes these, and what they can hold.
type grouping struct {
	limits
	// parent is the group that shards' are in; "" leaves a shard in the engine's own, where nothing limits it.
	parent string
	// manager is the socket of the systemd that owns parent, and is asked for shards' groups; "" has the runtime
	// make them by itself.
	manager string
}

// path is the shard's linux.cgroupsPath. With systemd that names a scope in a slice of its own: the scope, with
// all that the kernel counted in it, is gone as soon as PID 1 is, and the slice is there until it's stopped.
func (g grouping) path(id string) string {
	switch {
	case g.manager != "":
		return slice(id) + ":" + Namespace + ":" + id
	case g.parent != "":
		return path.Join(g.parent, id)
	}
	return ""
}

// slice is the name of a shard's; a dash would put it into another.
func slice(id string) string { return Namespace + id + ".slice" }

// sliceDir is where a shard's slice is seen on this machine.
func (g grouping) sliceDir(id string) string {
	return filepath.Join(cgroupRoot, g.parent, slice(id))
}

const cgroupRoot = "/sys/fs/cgroup"

// machine is what shards' cgroups depend on.
type machine struct {
	// root is "/" but in tests.
	root string
	uid  int
	// engine is the engine's process, 0 where that isn't on this machine as it's seen from here.
	engine int
}

// grouping chooses: a systemd where one runs, the user's own for a rootless engine; else, for root's engine, a
// group at the top, and for a rootless one the group next above it whose controllers were handed on to this user.
func (m machine) grouping(rootless bool) grouping {
	l := limits{cgroup2: m.exists(cgroupRoot, "cgroup.controllers")}
	if parent, manager := m.systemd(rootless); l.cgroup2 && manager != "" {
		l.controllers = m.controllers(parent, "cgroup.controllers")
		return grouping{l, parent, manager}
	}
	switch {
	case rootless && l.cgroup2:
		return m.delegated(l)
	case rootless:
		return grouping{limits: l}
	case l.cgroup2:
		l.controllers = m.controllers("/", "cgroup.controllers")
	default:
		l.controllers = m.hierarchies()
	}
	return grouping{limits: l, parent: "/" + Namespace}
}

// systemd gives the group and the socket of the manager that the engine is run by; "" without one. A rootless
// engine that isn't below its user's manager can't move a process to a group there, and runc says nothing of an
// exec's that it couldn't: this would be limited by nothing.
func (m machine) systemd(rootless bool) (parent, manager string) {
	parent, manager = "/", "/run/systemd/private"
	if rootless {
		parent = fmt.Sprintf("/user.slice/user-%d.slice/user@%[1]d.service", m.uid)
		manager = fmt.Sprintf("/run/user/%d/systemd/private", m.uid)
		if !strings.HasPrefix(m.engineGroup(), parent+"/") {
			return "", ""
		}
	}
	if m.engine == 0 || !m.exists("run/systemd/system") || !m.exists(manager) {
		return "", ""
	}
	return parent, manager
}

// delegated looks for a group that has no processes of its own, or the kernel would hand nothing on.
func (m machine) delegated(l limits) grouping {
	for g := m.engineGroup(); g != "/"; g = path.Dir(g) {
		l.controllers = m.controllers(g, "cgroup.subtree_control")
		if len(l.controllers) > 0 && unix.Access(m.path(cgroupRoot, g, "cgroup.procs"), unix.W_OK) == nil {
			return grouping{limits: l, parent: g}
		}
	}
	l.controllers = nil
	return grouping{limits: l}
}

// engineGroup is the engine's group in cgroup v2, "/" where it can't be seen.
func (m machine) engineGroup() string {
	text, _ := os.ReadFile(m.path("proc", strconv.Itoa(m.engine), "cgroup"))
	for line := range bytes.Lines(text) {
		if g, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("0::")); ok {
			return path.Clean("/" + string(g))
		}
	}
	return "/"
}

func (m machine) controllers(group, file string) []string {
	text, _ := os.ReadFile(m.path(cgroupRoot, group, file))
	return strings.Fields(string(text))
}

// hierarchies are the controllers of cgroup v1 that count here.
func (m machine) hierarchies() (found []string) {
	entries, _ := os.ReadDir(m.path(cgroupRoot))
	for _, e := range entries {
		for c := range strings.SplitSeq(e.Name(), ",") { // "cpu,cpuacct"
			if slices.Contains(wanted, c) && !slices.Contains(found, c) {
				found = append(found, c)
			}
		}
	}
	return found
}

func (m machine) path(elem ...string) string {
	return filepath.Join(append([]string{m.root}, elem...)...)
}

func (m machine) exists(elem ...string) bool {
	_, err := os.Stat(m.path(elem...))
	return err == nil
}
