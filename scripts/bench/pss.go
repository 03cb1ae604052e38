package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berth-run/berth/oci"
)

// pssVerb is bench's own verb, run in the engine's user namespace: only its root may read what the
// worker and the processes of the shard's user have mapped.
const pssVerb = "pss"

// memory is what a shard had at one moment, in bytes.
type memory struct {
	// ByName is the PSS of its processes by their names.
	ByName map[string]int64 `json:"byName"`
	// Anonymous is the part of it that has no file behind it, and so can't be given back.
	Anonymous int64 `json:"anonymous"`
	// Tmpfs is what its file systems in memory held.
	Tmpfs int64 `json:"tmpfs"`
}

func (m memory) total() int64 { return m.named("") }

// named adds up the processes whose names begin with one of the prefixes.
func (m memory) named(prefixes ...string) (sum int64) {
	for name, n := range m.ByName {
		if slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) }) {
			sum += n
		}
	}
	return sum
}

// pss samples the processes in the pid namespace of pid until there is none, and prints the most that
// two samples in a row both had: between fork and exec a child counts its parent's memory again.
func pss(pid string, w io.Writer) error {
	ns, err := os.Readlink("/proc/" + pid + "/ns/pid")
	if err != nil {
		return err
	}
	var most, last memory
	for {
		m, err := sampleOf(pid, ns)
		if err != nil {
			return err
		}
		if m.ByName == nil {
			return json.NewEncoder(w).Encode(most)
		}
		if both := lesser(last, m); both.total() > most.total() {
			most = both
		}
		last = m
		time.Sleep(50 * time.Millisecond)
	}
}

func lesser(a, b memory) memory {
	if a.total() < b.total() {
		return a
	}
	return b
}

// sampleOf adds up; a process that ends meanwhile is left out.
func sampleOf(pid, ns string) (m memory, err error) {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return m, err
	}
	for _, dir := range dirs {
		if l, err := os.Readlink(dir + "/ns/pid"); err != nil || l != ns {
			continue
		}
		all, anonymous, err := rollup(dir)
		if errors.Is(err, unix.ESRCH) || errors.Is(err, os.ErrNotExist) {
			continue
		}
		name, nerr := os.ReadFile(dir + "/comm")
		if err != nil {
			return m, err
		}
		if nerr != nil {
			continue
		}
		if m.ByName == nil {
			m.ByName = map[string]int64{}
		}
		m.ByName[strings.TrimSpace(string(name))] += all
		m.Anonymous += anonymous
	}
	m.Tmpfs = tmpfsUse("/proc/" + pid + "/root")
	return m, nil
}

// rollup reads a process's proportional set size, and the anonymous part.
func rollup(dir string) (all, anonymous int64, err error) {
	b, err := os.ReadFile(dir + "/smaps_rollup")
	if err != nil {
		return 0, 0, err
	}
	return kib(string(b), "Pss:"), kib(string(b), "Pss_Anon:"), nil
}

// kib finds the line "name  N kB", in bytes.
func kib(text, name string) int64 {
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == name {
			n, _ := strconv.ParseInt(f[1], 10, 64) // the kernel's own number
			return n << 10
		}
	}
	return 0
}

// tmpfsUse is what the shard's tmpfs hold, 0 when the shard is gone.
func tmpfsUse(root string) (sum int64) {
	for _, dir := range []string{oci.RunDir, oci.Home, "/tmp", oci.RuntimeDir, "/dev/shm"} {
		var st unix.Statfs_t
		if unix.Statfs(root+dir, &st) == nil {
			sum += int64((st.Blocks - st.Bfree) * uint64(st.Bsize)) // a type of its own on each system
		}
	}
	return sum
}

func runPSS(args []string, w io.Writer) error {
	if len(args) != 1 {
		return fmt.Errorf("usage: bench %s PID", pssVerb)
	}
	return pss(args[0], w)
}
