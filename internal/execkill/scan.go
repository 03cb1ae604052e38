package execkill

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// scanner finds an exec's processes. Where a marked process leads a session (the engine's exec does
// with some runtimes, though not with crun; a shell's job or a daemon may), that session is remembered,
// since a child outlives the parent that it would be known by.
type scanner struct {
	proc     string
	id       string
	self     int
	sessions map[int]bool
	// unclear is for how long to look again, since the last scan met a process that isn't one of the exec's as
	// far as can be seen, and has no environment at all: so it looks while it becomes another program.
	unclear time.Duration
}

// process is what /proc/PID/stat says.
type process struct {
	pid, ppid, session int
	dead               bool // zombie: nothing left to kill
}

// scan gives the living processes that carry the mark, are in the session that a marked one leads or
// led, or descend from one of these. The environment of a process that isn't dumpable (the worker's own)
// can't be read, so such a one is only found by its session or its parents.
func (s *scanner) scan() ([]int, error) {
	all, err := s.processes()
	if err != nil {
		return nil, err
	}
	hit, empties := map[int]bool{}, []int{}
	for _, p := range all {
		marked, empty := s.marked(p.pid)
		if empty && !p.dead && !p.kernel() {
			empties = append(empties, p.pid)
		}
		if !marked {
			continue
		}
		hit[p.pid] = true
		s.remember(p)
	}
	for _, p := range all {
		if s.sessions[p.session] {
			hit[p.pid] = true
		}
	}
	addDescendants(all, hit)
	s.unclear = 0
	for _, pid := range empties {
		if !hit[pid] {
			s.unclear = max(s.unclear, s.patience(pid))
		}
	}
	var found []int
	for _, p := range all {
		if hit[p.pid] && !p.dead && p.pid != s.self && p.pid != 1 {
			found = append(found, p.pid)
		}
	}
	return found, nil
}

// patience is for how long a process without an environment may yet turn out to have one. Until the kernel has
// set up the program that it becomes, it says that the environment ends at 0.
func (s *scanner) patience(pid int) time.Duration {
	stat, _ := os.ReadFile(filepath.Join(s.proc, strconv.Itoa(pid), "stat")) // gone: the next scan won't meet it
	if f := statFields(string(stat)); len(f) > envEnd && f[envEnd] == "0" {
		return becoming
	}
	return bare
}

// envEnd is where an environment ends, among statFields: it's the 51st of proc_pid_stat(5), whose first two are
// cut off.
const envEnd = 51 - 3

// kernel tells the kernel's own threads, children of its kthreadd, which never have an environment.
func (p process) kernel() bool { return p.pid == kthreadd || p.ppid == kthreadd }

const kthreadd = 2

// remember takes up p's session if p leads it: only then is everything in it the exec's.
func (s *scanner) remember(p process) {
	if p.session != p.pid || p.pid <= 1 {
		return
	}
	if s.sessions == nil {
		s.sessions = map[int]bool{}
	}
	s.sessions[p.session] = true
}

func addDescendants(all []process, hit map[int]bool) {
	for grew := true; grew; {
		grew = false
		for _, p := range all {
			if !hit[p.pid] && hit[p.ppid] {
				hit[p.pid], grew = true, true
			}
		}
	}
}

func (s *scanner) processes() ([]process, error) {
	entries, err := os.ReadDir(s.proc)
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	var all []process
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(filepath.Join(s.proc, e.Name(), "stat"))
		if err != nil {
			continue // gone meanwhile
		}
		if p, ok := parseStat(pid, string(stat)); ok {
			all = append(all, p)
		}
	}
	return all, nil
}

// statFields splits "pid (comm) state ppid pgrp session …" from the state on; comm may hold anything, so it's
// cut at the last parenthesis.
func statFields(stat string) []string {
	return strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
}

func parseStat(pid int, stat string) (process, bool) {
	f := statFields(stat)
	if len(f) < 4 {
		return process{}, false
	}
	ppid, err1 := strconv.Atoi(f[1])
	session, err2 := strconv.Atoi(f[3])
	dead := f[0] == "Z" || f[0] == "X"
	return process{pid: pid, ppid: ppid, session: session, dead: dead}, err1 == nil && err2 == nil
}

// Marked tells whether a process carries exec id's mark, of either kind.
func Marked(pid int, id string) bool {
	s := scanner{proc: "/proc", id: id}
	marked, _ := s.marked(pid)
	return marked
}

func (s *scanner) marked(pid int) (marked, empty bool) {
	if limited(s.proc, pid, s.id) {
		return true, false
	}
	return s.named(pid)
}

// named tells whether the environment has the mark, and whether there is none.
func (s *scanner) named(pid int) (named, empty bool) {
	env, err := os.ReadFile(filepath.Join(s.proc, strconv.Itoa(pid), "environ"))
	if err != nil {
		return false, false
	}
	for v := range bytes.SplitSeq(env, []byte{0}) {
		if string(v) == EnvVar+"="+s.id {
			return true, false
		}
	}
	return false, len(env) == 0
}
