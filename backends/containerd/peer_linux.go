package containerd

import (
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// isRootless tells whether who listens at a socket is in a user namespace whose root isn't the machine's.
// A peer that can't be seen from here is another container's or the host's, and taken for root's.
func isRootless(socket string) bool {
	conn, err := net.DialTimeout("unix", socket, time.Second)
	if err != nil {
		return false
	}
	defer conn.Close()
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		return false
	}
	var peer *unix.Ucred
	if cerr := raw.Control(func(fd uintptr) { peer, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); cerr != nil || err != nil {
		return false
	}
	uidMap, err := os.ReadFile(fmt.Sprintf("/proc/%d/uid_map", peer.Pid))
	if err != nil {
		return false
	}
	// ID in the namespace, id outside of it, and how many. A container's root may be mapped too; then all
	// that this one sees is.
	f := strings.Fields(string(uidMap))
	return len(f) != 3 || f[0] != f[1]
}
