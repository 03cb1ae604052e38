package containerd

import (
	"errors"
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
	pid, err := peer(socket)
	if err != nil {
		return false
	}
	uidMap, err := os.ReadFile(fmt.Sprintf("/proc/%d/uid_map", pid))
	if err != nil {
		return false
	}
	// ID in the namespace, id outside of it, and how many. A container's root may be mapped too; then all
	// that this one sees is.
	f := strings.Fields(string(uidMap))
	return len(f) != 3 || f[0] != f[1]
}

// isOutside tells whether who listens at a socket can't be seen from here: this is a container, and the
// engine is not in it.
func isOutside(socket string) bool {
	pid, err := peer(socket)
	return err == nil && pid == 0
}

// peer is the process that listens at a socket, 0 for one that this PID namespace doesn't have.
func peer(socket string) (int32, error) {
	conn, err := net.DialTimeout("unix", socket, time.Second)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *unix.Ucred
	if cerr := raw.Control(func(fd uintptr) { cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); cerr != nil || err != nil {
		return 0, errors.Join(cerr, err)
	}
	return cred.Pid, nil
}
