package channel

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// TrustEngine accepts a peer of the control socket only if the engine exec'd it: its parent is
// pid 0, a process outside the shard's pid namespace, which nothing that runs in the shard can have;
// and it has the worker's uid. The error is ErrUntrusted.
func TrustEngine(conn *net.UnixConn) error {
	peer, pidfd, err := peerOf(conn)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUntrusted, err)
	}
	defer unix.Close(pidfd)
	if int(peer.Uid) != os.Getuid() {
		return fmt.Errorf("%w: uid %d", ErrUntrusted, peer.Uid)
	}
	parent, err := parentOf(int(peer.Pid))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUntrusted, err)
	}
	// Alive now, so the number still meant the peer when its parent was read.
	if err := unix.PidfdSendSignal(pidfd, 0, nil, 0); err != nil {
		return fmt.Errorf("%w: it has ended", ErrUntrusted)
	}
	if parent != 0 {
		return fmt.Errorf("%w: pid %d is a child of %d", ErrUntrusted, peer.Pid, parent)
	}
	return nil
}

// peerOf gives who connected, with a descriptor that stays that process's. Kernels before 6.5 can't
// give the descriptor with the connection; there it's opened by number, so a peer that has died
// before is only as safe as pids are slow to come round.
func peerOf(conn *net.UnixConn) (*unix.Ucred, int, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, 0, err
	}
	var cred *unix.Ucred
	pidfd := -1
	var credErr, fdErr error
	if err := raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
		pidfd, fdErr = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PEERPIDFD)
	}); err != nil {
		return nil, 0, err
	}
	if credErr != nil {
		return nil, 0, credErr
	}
	if errors.Is(fdErr, unix.ENOPROTOOPT) {
		pidfd, fdErr = unix.PidfdOpen(int(cred.Pid), 0)
	}
	return cred, pidfd, fdErr
}

// parentOf reads a process's parent from /proc/PID/status, which is readable for processes that
// aren't dumpable too.
func parentOf(pid int) (int, error) {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(status) {
		if value, ok := bytes.CutPrefix(line, []byte("PPid:")); ok {
			return strconv.Atoi(string(bytes.TrimSpace(value)))
		}
	}
	return 0, errors.New("no parent in /proc/PID/status")
}
