package network

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Where a machine's nameservers are; the second has systemd-resolved's own, where the first only names
// that one.
var resolvFiles = []string{"etc/resolv.conf", "run/systemd/resolve/resolv.conf"}

// Resolv gives a shard's /etc/resolv.conf: the engine's own, without nameservers that a shard can't reach.
func (e Engine) Resolv() ([]byte, error) {
	for _, file := range resolvFiles {
		b, err := readIn(fmt.Sprintf("/proc/%d/root", e.PID), file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("reading the engine's nameservers: %w", err)
		}
		if out, ok := reachable(b); ok {
			return out, nil
		}
	}
	return nil, errors.New("the engine's /etc/resolv.conf has no nameserver that a shard reaches (one on the loopback isn't, nor one by IPv6): name one there")
}

// reachable are the lines that hold in a shard too, and whether a nameserver is among them.
func reachable(resolv []byte) (out []byte, ok bool) {
	for line := range bytes.Lines(resolv) {
		f := strings.Fields(string(line))
		if len(f) < 2 {
			continue
		}
		switch f[0] {
		case "nameserver":
			a, err := netip.ParseAddr(f[1])
			if err != nil || !a.Is4() || a.IsLoopback() || a.IsUnspecified() {
				continue
			}
			ok = true
		case "search", "domain", "options":
		default:
			continue
		}
		out = append(out, strings.Join(f, " ")...)
		out = append(out, '\n')
	}
	return out, ok
}

// readIn reads a file below root, links resolved as if that were the root.
func readIn(root, file string) ([]byte, error) {
	dir, err := os.OpenFile(root, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	fd, err := unix.Openat2(int(dir.Fd()), file, &unix.OpenHow{Flags: unix.O_RDONLY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT})
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: file, Err: err}
	}
	f := os.NewFile(uintptr(fd), file)
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, 1<<20))
}
