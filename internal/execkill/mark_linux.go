package execkill

import (
	"hash/fnv"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// limitName is how /proc/PID/limits calls RLIMIT_LOCKS.
const limitName = "Max file locks"

// Mark puts id on a process that has just been started, besides its environment: as its limit of file
// locks, which the kernel hasn't looked at since Linux 2.4.25. Children inherit it, whatever else they
// shed, and it can only be lowered. A child that was there before has only the environment's mark.
func Mark(pid int, id string) error {
	n := limitOf(id)
	return unix.Prlimit(pid, unix.RLIMIT_LOCKS, &unix.Rlimit{Cur: n, Max: n}, nil)
}

// limitOf is a number for id that no one sets for a limit.
func limitOf(id string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(id)) // never fails
	return h.Sum64()>>2 | 1<<62
}

// limited tells that a process has id's limit. Unlike the environment, it can be read of any process.
func limited(proc string, pid int, id string) bool {
	b, err := os.ReadFile(filepath.Join(proc, strconv.Itoa(pid), "limits"))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(b)) {
		if values, ok := strings.CutPrefix(line, limitName); ok {
			f := strings.Fields(values)
			return len(f) > 1 && f[1] == strconv.FormatUint(limitOf(id), 10)
		}
	}
	return false
}
