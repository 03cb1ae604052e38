package rig

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/berth-run/berth/internal/results"
)

// Kill sends a signal from the host. A user may do that in his engine's user namespace, whatever
// uid a process has in there.
func Kill(t *testing.T, pid int, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, s); err != nil {
		t.Fatalf("%s for %d (%s): %v", s, pid, cmdline(pid), err)
	}
}

// parents maps every process to its parent.
func parents() map[int]int {
	out := map[int]int{}
	dirs, _ := filepath.Glob("/proc/[0-9]*") // only a bad pattern fails
	for _, dir := range dirs {
		stat, err := os.ReadFile(filepath.Join(dir, "stat"))
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if err != nil || len(fields) < 2 {
			continue // gone meanwhile
		}
		pid, _ := strconv.Atoi(filepath.Base(dir))
		out[pid], _ = strconv.Atoi(string(fields[1]))
	}
	return out
}

// find waits for the one process that is as told.
func find(t *testing.T, what string, is func(pid int, parents map[int]int) bool) int {
	t.Helper()
	var found []int
	ok := Eventually(func() bool {
		found = nil
		all := parents()
		for pid := range all {
			if is(pid, all) {
				found = append(found, pid)
			}
		}
		return len(found) == 1
	})
	if !ok {
		t.Fatalf("%d processes are %s", len(found), what)
	}
	return found[0]
}

// ProcessIn gives the process of a shard whose arguments hold all words, as the host numbers it.
func ProcessIn(t *testing.T, s Shard, words ...string) int {
	t.Helper()
	return find(t, strings.Join(words, " "), func(pid int, parents map[int]int) bool {
		return descends(pid, s.Pid, parents) && ArgumentsHold(pid, words...)
	})
}

// StopAll stops a shard's processes, PID 1 first and what they start meanwhile, too.
func StopAll(t *testing.T, s Shard) {
	t.Helper()
	Kill(t, s.Pid, syscall.SIGSTOP)
	stopped := map[int]bool{s.Pid: true}
	for more := true; more; {
		more = false
		all := parents()
		for pid := range all {
			if !stopped[pid] && descends(pid, s.Pid, all) {
				_ = syscall.Kill(pid, syscall.SIGSTOP) // one that has ended meanwhile needs none
				stopped[pid], more = true, true
			}
		}
	}
}

// Parent gives the parent of a process that has one.
func Parent(t *testing.T, pid int) int {
	t.Helper()
	p := parents()[pid]
	if p <= 1 {
		t.Fatalf("process %d has no parent any more", pid)
	}
	return p
}

func descends(pid, from int, parents map[int]int) bool {
	for ; pid > 1; pid = parents[pid] {
		if pid == from {
			return true
		}
	}
	return false
}

// ArgumentsHold tells whether the process's command line has all words.
func ArgumentsHold(pid int, words ...string) bool {
	line := cmdline(pid)
	for _, w := range words {
		if !strings.Contains(line, w) {
			return false
		}
	}
	return true
}

// FailureCode is a trial's, "" when it has none.
func FailureCode(trial *results.Trial) string {
	if trial == nil {
		return "no such trial"
	}
	return trial.FailureCode()
}

// LastSix is how a person names a run.
func LastSix(dir string) string { return dir[len(dir)-6:] }

// Missing checks that the run's record says of a case that its trial is missing, and why.
func (r Result) Missing(t *testing.T, id, reason string) {
	t.Helper()
	for _, s := range r.Record(t).Runner.Shards {
		for _, m := range s.Missing {
			if m.CaseID == id && strings.Contains(m.Reason, reason) {
				return
			}
		}
	}
	t.Errorf("no shard misses %s because of %q: %+v", id, reason, r.Record(t).Runner.Shards)
}
