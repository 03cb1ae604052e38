package owner

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// initialPIDNamespace is the host's own (PID_NS_INIT_INO of linux/nsfs.h).
const initialPIDNamespace = "pid:[4026531836]"

// place gives all of this process's identity but the process.
func place() (Identity, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return Identity{}, err
	}
	ns, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return Identity{}, err
	}
	id := Identity{Boot: strings.TrimSpace(string(boot)), PIDNamespace: ns}
	if ns == initialPIDNamespace {
		machine, _ := os.ReadFile("/etc/machine-id")
		id.Host = hostID(strings.TrimSpace(string(machine)))
	}
	return id, nil
}

// errElsewhere: /proc is mounted for another PID namespace, so its numbers aren't this process's.
var errElsewhere = errors.New("/proc shows another PID namespace's processes")

// startTime gives field 22 of /proc/PID/stat: clock ticks since boot, which setting the clock
// doesn't change. That a process is gone is kill(2)'s word, since /proc may hide other users'.
func startTime(pid int) (string, error) {
	if err := unix.Kill(pid, 0); errors.Is(err, unix.ESRCH) {
		return "", errGone
	}
	name := fmt.Sprintf("/proc/%d/stat", pid)
	if pid == os.Getpid() {
		name = "/proc/self/stat"
	} else if self, err := os.Readlink("/proc/self"); err != nil || self != strconv.Itoa(os.Getpid()) {
		return "", errors.Join(errElsewhere, err)
	}
	stat, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	return parseStat(stat)
}

// parseStat reads from behind the command, which may hold spaces and parentheses itself.
func parseStat(stat []byte) (string, error) {
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	const state, start = 0, 19 // the 3rd and the 22nd field of proc_pid_stat(5); the first two are cut off
	if len(fields) <= start {
		return "", fmt.Errorf("stat has %d fields", len(fields))
	}
	if s := fields[state][0]; s == 'Z' || s == 'X' {
		return "", errGone
	}
	return string(fields[start]), nil
}
