package selfcheck

import (
	"fmt"
	"net"
	"os"
	"strings"
)

// bootKey is the entry of OwnNamespaces that says whose kernel the inode numbers are of.
const bootKey = "boot"

// namespaces are those that a shard has of its own, by their names in /proc/self/ns.
var namespaces = []string{"cgroup", "ipc", "mnt", "net", "pid", "user", "uts"}

// initial are the inode numbers of the host's own, fixed by the kernel (include/uapi/linux/nsfs.h);
// before Linux 6.18 those of mnt and net weren't.
var initial = map[string]string{
	"cgroup": "cgroup:[4026531835]",
	"ipc":    "ipc:[4026531839]",
	"mnt":    "mnt:[4026531832]",
	"net":    "net:[4026531833]",
	"pid":    "pid:[4026531836]",
	"user":   "user:[4026531837]",
	"uts":    "uts:[4026531838]",
}

// OwnNamespaces gives the calling process's namespaces ("ipc": "ipc:[4026531839]") and, as the inode
// numbers mean nothing on another kernel, "boot": its boot id.
func OwnNamespaces() map[string]string {
	own := map[string]string{}
	for _, ns := range namespaces {
		if link, err := os.Readlink("/proc/self/ns/" + ns); err == nil {
			own[ns] = link
		}
	}
	if id, err := bootID(); err == nil {
		own[bootKey] = id
	}
	return own
}

func bootID() (string, error) {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(b)), err
}

func checkNamespaces(c *checks, e Expect) {
	boot, _ := bootID()
	own := OwnNamespaces()
	for _, ns := range namespaces {
		foreign := ""
		if boot != "" && e.Foreign[bootKey] == boot {
			foreign = e.Foreign[ns]
		}
		ok := isOwn(own[ns], initial[ns], foreign) && (ns != "net" || !inHostNetwork())
		c.add("namespace:"+ns, ok, "its own", own[ns])
	}
	m, err := os.ReadFile("/proc/self/uid_map")
	ok, got := mapsIDs(string(m), 0, e.UID), strings.Join(strings.Fields(string(m)), " ")
	if err != nil {
		ok, got = false, err.Error()
	}
	c.add("uid_map", ok, "other ids on the host", got)
}

// inHostNetwork tells the host's network namespace where its number isn't fixed and the caller is on
// another machine: this sysctl is registered there only (net/core/sysctl_net_core.c).
func inHostNetwork() bool {
	_, err := os.Stat("/proc/sys/net/core/netdev_budget")
	return err == nil
}

func isOwn(link, initial, foreign string) bool {
	return link != "" && link != initial && link != foreign
}

// mapsIDs tells whether each of ids is somebody else outside. Other ids may be the same number there:
// where an engine runs in a container itself, "outside" is that container.
func mapsIDs(uidMap string, ids ...int) bool {
	mapped := false
	for line := range strings.Lines(uidMap) {
		var inside, outside, count int
		if n, err := fmt.Sscan(line, &inside, &outside, &count); n != 3 || err != nil {
			return false
		}
		mapped = true
		for _, id := range ids {
			if inside == outside && inside <= id && id < inside+count {
				return false
			}
		}
	}
	return mapped
}

// checkNetwork looks for a way out when there must be none.
func checkNetwork(c *checks, e Expect) {
	if e.Network != "none" {
		return
	}
	interfaces, err := net.Interfaces()
	c.equal("network", "lo", strings.Join(usable(interfaces), " "), err)
}

// usable names the interfaces that are up. A kernel with tunnel modules puts one of each into every
// new namespace (sit0, tunl0), down, and without a capability they stay so.
func usable(interfaces []net.Interface) []string {
	var names []string
	for _, i := range interfaces {
		if i.Flags&net.FlagUp != 0 || i.Name == "lo" {
			names = append(names, i.Name)
		}
	}
	return names
}
