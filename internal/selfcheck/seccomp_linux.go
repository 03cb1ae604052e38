package selfcheck

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// probe is a system call that the profile denies, with arguments that make it harmless: without the
// profile it fails by those arguments, before the kernel looks at capabilities, sysctls or modules.
// So want comes from the profile alone, and any other outcome means that the call got past it.
type probe struct {
	name   string
	number uintptr
	args   [6]uintptr
	want   unix.Errno
	// without is what the call gives when no profile stops it; documentation, and tested as that.
	without unix.Errno
}

const (
	bad     = ^uintptr(0) // a file descriptor, clock, flag word or pid that doesn't exist
	invalid = uintptr(1)  // an address that is never mapped
	huge    = uintptr(1 << 20)

	uffdUserModeOnly = 1 // UFFD_USER_MODE_ONLY of linux/userfaultfd.h
)

// probes cover user namespaces (each way into one), mounts, kernel attack surface, keyrings (which
// aren't namespaced) and sockets that leave the network namespace.
var probes = []probe{
	// A user namespace makes the caller single-threaded first, which a Go program never is.
	{name: "unshare", number: unix.SYS_UNSHARE, args: [6]uintptr{unix.CLONE_NEWUSER}, want: unix.EPERM, without: unix.EINVAL},
	// These two flags exclude each other, so no child is ever made.
	{name: "clone", number: unix.SYS_CLONE, args: [6]uintptr{unix.CLONE_NEWUSER | unix.CLONE_FS}, want: unix.EPERM, without: unix.EINVAL},
	// The profile can't look into clone3's argument; ENOSYS makes callers use clone.
	{name: "clone3", number: unix.SYS_CLONE3, args: [6]uintptr{0, 0}, want: unix.ENOSYS, without: unix.EINVAL},
	{name: "setns", number: unix.SYS_SETNS, args: [6]uintptr{bad, 0}, want: unix.EPERM, without: unix.EBADF},
	{name: "mount", number: unix.SYS_MOUNT, args: [6]uintptr{0, 0, invalid}, want: unix.EPERM, without: unix.EFAULT},
	{name: "umount2", number: unix.SYS_UMOUNT2, args: [6]uintptr{invalid, 1 << 30}, want: unix.EPERM, without: unix.EINVAL},
	{name: "open_tree", number: unix.SYS_OPEN_TREE, args: [6]uintptr{bad, invalid, 1 << 30}, want: unix.EPERM, without: unix.EINVAL},
	{name: "chroot", number: unix.SYS_CHROOT, args: [6]uintptr{invalid}, want: unix.EPERM, without: unix.EFAULT},
	{name: "bpf", number: unix.SYS_BPF, args: [6]uintptr{1 << 16, invalid, huge}, want: unix.EPERM, without: unix.E2BIG},
	{name: "perf_event_open", number: unix.SYS_PERF_EVENT_OPEN, args: [6]uintptr{invalid, 0, bad, bad, 1 << 30}, want: unix.EPERM, without: unix.EINVAL},
	// io_uring_setup has a sysctl of its own; io_uring_enter hasn't.
	{name: "io_uring_enter", number: unix.SYS_IO_URING_ENTER, args: [6]uintptr{bad}, want: unix.EPERM, without: unix.EBADF},
	// User mode only needs no privilege whatever the sysctl; the second flag doesn't exist.
	{name: "userfaultfd", number: unix.SYS_USERFAULTFD, args: [6]uintptr{uffdUserModeOnly | 1<<30}, want: unix.EPERM, without: unix.EINVAL},
	{name: "kcmp", number: unix.SYS_KCMP, args: [6]uintptr{1 << 30, 1 << 30, 0}, want: unix.EPERM, without: unix.ESRCH},
	{name: "keyctl", number: unix.SYS_KEYCTL, args: [6]uintptr{1 << 16}, want: unix.EPERM, without: unix.EOPNOTSUPP},
	{name: "add_key", number: unix.SYS_ADD_KEY, args: [6]uintptr{invalid}, want: unix.EPERM, without: unix.EFAULT},
	{name: "request_key", number: unix.SYS_REQUEST_KEY, args: [6]uintptr{invalid}, want: unix.EPERM, without: unix.EFAULT},
	{name: "clock_settime", number: unix.SYS_CLOCK_SETTIME, args: [6]uintptr{1 << 20, invalid}, want: unix.EPERM, without: unix.EINVAL},
	// A socket type with an unknown flag fails before its family is looked up, or its module loaded.
	{name: "socket:vsock", number: unix.SYS_SOCKET, args: [6]uintptr{unix.AF_VSOCK, 1 << 30}, want: unix.EPERM, without: unix.EINVAL},
	{name: "socket:alg", number: unix.SYS_SOCKET, args: [6]uintptr{unix.AF_ALG, 1 << 30}, want: unix.EPERM, without: unix.EINVAL},
}

// checkSeccomp tries the denied calls for real: a profile that allows everything shows the same
// "Seccomp: 2" in /proc.
func checkSeccomp(c *checks, _ Expect) {
	for _, p := range probes {
		got := p.try()
		c.add("seccomp:"+p.name, got == p.want, errnoName(p.want), errnoName(got))
	}
}

func (p probe) try() unix.Errno {
	_, _, errno := unix.RawSyscall6(p.number, p.args[0], p.args[1], p.args[2], p.args[3], p.args[4], p.args[5])
	return errno
}

func errnoName(e unix.Errno) string {
	if e == 0 {
		return "success"
	}
	if name := unix.ErrnoName(e); name != "" {
		return name
	}
	return "errno " + strconv.Itoa(int(e))
}
