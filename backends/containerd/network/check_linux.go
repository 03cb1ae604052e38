package network

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// pluginDirs are where distributions and the plugins' own releases put them.
var pluginDirs = []string{"/opt/cni/bin", "/usr/lib/cni", "/usr/libexec/cni", "/usr/local/libexec/cni", "/usr/local/lib/cni"}

// plugins are what a shard's network is made with.
var plugins = []string{"ptp", "host-local"}

// Lacks says why shards of the engine can't have its network, in a line with the way on; "" where they can.
func (e Engine) Lacks() string {
	switch {
	case e.PID == 0:
		return "berth sees none of containerd's processes, as in a container, so it can't enter its namespaces: run berth on the engine's own machine"
	case !e.same("pid"):
		return "containerd runs in a pid namespace of its own, so berth can't find its shards' processes"
	case os.Geteuid() != 0 && !e.Rootless:
		return "root's containerd has its network from root: run berth as root, or use a rootless one"
	case os.Geteuid() != 0 && e.same("net"):
		return "this rootless containerd has the machine's own network (rootlesskit --net=host), where an ordinary user may make no interface: start it with --net=slirp4netns or --net=pasta, as containerd-rootless.sh does"
	}
	if _, err := pluginDir(e.path("")); err != nil {
		return err.Error()
	}
	if _, err := e.Resolv(); err != nil {
		return err.Error()
	}
	if !e.entered() {
		if _, err := exec.LookPath("nsenter"); err != nil {
			return "there's no nsenter: install util-linux"
		}
	}
	for _, dir := range strings.Split(helperPath, ":") {
		if executable(e.path(filepath.Join(dir, "iptables"))) {
			return ""
		}
	}
	return "CNI's plugins need iptables: install it (Debian: `apt install iptables`)"
}

// pluginDir is the first folder below root that has all plugins.
func pluginDir(root string) (string, error) {
	for _, dir := range pluginDirs {
		n := 0
		for _, p := range plugins {
			if executable(filepath.Join(root, dir, p)) {
				n++
			}
		}
		if n == len(plugins) {
			return dir, nil
		}
	}
	return "", fmt.Errorf("there are no CNI plugins (%s) in %s: %s", strings.Join(plugins, ", "), strings.Join(pluginDirs, ", "), pluginsAdvice)
}

func executable(file string) bool {
	st, err := os.Stat(file)
	return err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0
}

// path is how a file of the engine's is seen from here.
func (e Engine) path(file string) string {
	if e.same("mnt") {
		return file
	}
	return filepath.Join(fmt.Sprintf("/proc/%d/root", e.PID), file)
}

// entered: there's no namespace to enter.
func (e Engine) entered() bool { return e.same("mnt") && e.same("net") }

// same tells whether the engine's namespace of a kind is this process's own.
func (e Engine) same(kind string) bool {
	own, err := os.Readlink("/proc/self/ns/" + kind)
	if err != nil {
		return false
	}
	its, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/%s", e.PID, kind))
	return err == nil && own == its
}
