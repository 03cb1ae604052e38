package owner

import (
	"encoding/hex"
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// place gives all of this process's identity but the process. The kernel's boot session stands for
// the boot id (kern.boottime moves when the clock is set); there is one pid namespace.
func place() (Identity, error) {
	boot, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return Identity{}, err
	}
	return Identity{Host: hostID(machineUUID()), Boot: boot, PIDNamespace: "darwin"}, nil
}

// machineUUID asks gethostuuid(2); "" when it doesn't say.
func machineUUID() string {
	var uuid [16]byte
	var wait unix.Timespec
	_, _, errno := unix.Syscall(unix.SYS_GETHOSTUUID, uintptr(unsafe.Pointer(&uuid)), uintptr(unsafe.Pointer(&wait)), 0)
	if errno != 0 {
		return ""
	}
	return hex.EncodeToString(uuid[:])
}

// zombie is SZOMB of sys/proc.h.
const zombie = 5

// startTime gives the time that the kernel noted when the process began.
func startTime(pid int) (string, error) {
	if err := unix.Kill(pid, 0); errors.Is(err, unix.ESRCH) {
		return "", errGone
	}
	p, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return "", err
	}
	if p.Proc.P_stat == zombie {
		return "", errGone
	}
	return fmt.Sprintf("%d.%06d", p.Proc.P_starttime.Sec, p.Proc.P_starttime.Usec), nil
}
