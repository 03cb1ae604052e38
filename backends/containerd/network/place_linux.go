package network

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// folder is where everything of the network is, in the engine's mount namespace. It's below /run, so that a
// machine, or a rootlesskit, that starts anew starts without any. What it tells of is in one network
// namespace, whose number it has: /run may be seen from others.
var folder = sync.OnceValue(func() string {
	var own unix.Stat_t
	_ = unix.Stat("/proc/self/ns/net", &own) // there always
	return fmt.Sprintf("/run/berth-network-%d", own.Ino)
})

// cniDir is where CNI's library keeps what the plugins answered, which can't be told otherwise.
const cniDir = "/var/lib/cni"

// Files of the folder.
func lockFile() string  { return folder() + "/lock" }
func confDir() string   { return folder() + "/net.d" }
func confFile() string  { return confDir() + "/berth.conflist" }
func ipamDir() string   { return folder() + "/addresses" }
func placesDir() string { return folder() + "/shards" }

// freshFile is there when the firewall's chains weren't, before.
func freshFile() string { return folder() + "/fresh-chains" }

// place is what a shard has in the folder: its process, by whose life it's held, and a mount of its network
// namespace, which plugins need to take away what they made when the process has ended long ago.
type place struct{ id string }

func (p place) dir() string   { return filepath.Join(placesDir(), p.id) }
func (p place) netns() string { return filepath.Join(p.dir(), "netns") }
func (p place) owner() string { return filepath.Join(p.dir(), "process") }

// make takes the place for a process. Its owner is there before anything else is.
func (p place) make(pid int) error {
	start, err := startTime(pid)
	if err != nil {
		return fmt.Errorf("the shard's process: %w", err)
	}
	if err := os.MkdirAll(p.dir(), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(p.owner(), fmt.Appendf(nil, "%d %s", pid, start), 0o600); err != nil {
		return err
	}
	if err := os.WriteFile(p.netns(), nil, 0o600); err != nil {
		return err
	}
	if err := unix.Mount(fmt.Sprintf("/proc/%d/ns/net", pid), p.netns(), "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("keeping the shard's network namespace: %w", err)
	}
	return nil
}

// kept is the namespace's path, "" where it was never kept.
func (p place) kept() string {
	var fs unix.Statfs_t
	if unix.Statfs(p.netns(), &fs) != nil || fs.Type != unix.NSFS_MAGIC {
		return ""
	}
	return p.netns()
}

// busy waits until no plugin works for the place, and keeps others from it until the file is closed.
func (p place) busy() (*os.File, error) {
	f, err := os.Open(p.owner())
	if err != nil {
		return nil, err
	}
	if err := flock(f); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// taken tells whether there's anything of the place.
func (p place) taken() bool {
	_, err := os.Lstat(p.dir())
	return err == nil
}

// alive tells whether its process is. A place without one, or half a one, is a killed helper's.
func (p place) alive() bool {
	b, err := os.ReadFile(p.owner())
	if err != nil {
		return false
	}
	var pid int
	var start string
	if _, err := fmt.Sscan(string(b), &pid, &start); err != nil {
		return false
	}
	now, err := startTime(pid)
	return err == nil && now == start
}

// remove gives the place up.
func (p place) remove() error {
	err := unix.Unmount(p.netns(), unix.MNT_DETACH)
	if err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("letting go of a network namespace: %w", err)
	}
	// The library takes it away itself, unless it was killed.
	_ = os.Remove(filepath.Join(cniDir, "results", name+"-"+p.id+"-eth0"))
	return os.RemoveAll(p.dir())
}

// places are all that are taken.
func places() ([]place, error) {
	entries, err := os.ReadDir(placesDir())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var all []place
	for _, e := range entries {
		all = append(all, place{e.Name()})
	}
	return all, nil
}

// startTime tells a process from another that had its number. One that has ended and wasn't reaped is
// none.
func startTime(pid int) (string, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	// The command's name, in parentheses, may have any sign in it.
	_, rest, _ := strings.Cut(string(b[max(0, strings.LastIndexByte(string(b), ')')):]), ") ")
	f := strings.Fields(rest)
	if len(f) < 20 || f[0] == "Z" || f[0] == "X" {
		return "", fs.ErrNotExist
	}
	return f[19], nil
}
