package rig

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Running gives the one run that is under way and its containers.
func (p *Project) Running() (runID string, _ []Shard) {
	p.T.Helper()
	runs := p.Runs()
	if len(runs) == 0 {
		p.T.Fatal("no run has a folder")
	}
	runID = filepath.Base(runs[len(runs)-1])
	return runID, p.Engine.Shards(p.T, runID)
}

// NothingLeft checks that nothing of the project's runs is left on this machine: no container, no
// process, no mount, no temporary file.
func (p *Project) NothingLeft() {
	p.T.Helper()
	var ids []string
	for _, dir := range p.Runs() {
		if left := p.Engine.Shards(p.T, filepath.Base(dir)); len(left) > 0 {
			p.T.Errorf("containers are left: %+v", left)
		}
		if Gone(filepath.Join(dir, "run.json")) { // killed before there was anything to record
			continue
		}
		if r := record(p.T, dir).Runner; r != nil {
			for _, s := range r.Shards {
				ids = append(ids, s.Container)
			}
		}
	}
	p.NoTrace(ids...)
}

// NoTrace checks that nothing is left of the project's commands, and of containers that are gone. What an
// engine has told to end may be at its end yet.
func (p *Project) NoTrace(containers ...string) {
	p.T.Helper()
	containers = slices.DeleteFunc(containers, func(id string) bool { return id == "" })
	var left []string
	Eventually(func() bool {
		left = p.Engine.Left(p.T, containers)
		for _, pid := range p.Processes(containers) {
			left = append(left, fmt.Sprintf("process %d: %s", pid, cmdline(pid)))
		}
		return len(left) == 0
	})
	for _, l := range left {
		p.T.Errorf("left: %s", l)
	}
	p.noFiles()
}

// noFiles checks the temporary folder, and the runtime folder for sockets that nobody serves.
func (p *Project) noFiles() {
	p.T.Helper()
	var left []os.DirEntry
	Eventually(func() bool {
		var err error
		if left, err = os.ReadDir(p.Path("tmp")); err != nil {
			p.T.Fatal(err)
		}
		return len(left) == 0
	})
	for _, e := range left {
		p.T.Errorf("temporary file %s is left", e.Name())
	}
	dirs, err := filepath.Glob(filepath.Join(p.Engine.runtimeDir(), "berth-podman-*"))
	if err != nil {
		p.T.Fatal(err)
	}
	for _, dir := range dirs {
		if !Eventually(func() bool { return served(dir) || Gone(dir) }) {
			p.T.Errorf("%s is left", dir)
		}
	}
}

// served tells that the folder is a running engine's: another test's.
func served(dir string) bool { return listens(filepath.Join(dir, "podman.sock")) }

func listens(socket string) bool {
	c, err := net.Dial("unix", socket)
	if err != nil {
		return false
	}
	return c.Close() == nil
}

// Gone tells that there is no such file.
func Gone(path string) bool {
	_, err := os.Stat(path)
	return os.IsNotExist(err)
}

// Eventually asks again for some time, for what ends by itself and nobody tells when.
func Eventually(is func() bool) bool {
	for late := time.Now().Add(time.Minute); time.Now().Before(late); time.Sleep(20 * time.Millisecond) {
		if is() {
			return true
		}
	}
	return is()
}

// Processes are those that carry the project's mark in their environment or one of the containers in
// their arguments. Podman's pause process, which is one a user and not one a run, isn't among them.
func (p *Project) Processes(containers []string) []int {
	p.T.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		p.T.Fatal(err)
	}
	pause := pausePID(p.Engine.runtimeDir())
	var pids []int
	for _, dir := range dirs {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil || pid == pause {
			continue
		}
		environ, _ := os.ReadFile(filepath.Join(dir, "environ")) // unreadable: another user's
		found := bytes.Contains(environ, []byte(p.mark))
		for _, id := range containers {
			found = found || id != "" && strings.Contains(cmdline(pid), id)
		}
		if found {
			pids = append(pids, pid)
		}
	}
	return pids
}

func cmdline(pid int) string {
	b, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline") // gone: no arguments
	return strings.ReplaceAll(strings.TrimRight(string(b), "\x00"), "\x00", " ")
}

func pausePID(runtimeDir string) int {
	b, _ := os.ReadFile(filepath.Join(runtimeDir, "libpod/tmp/pause.pid"))
	pid, _ := strconv.Atoi(strings.TrimSpace(string(b)))
	return pid
}

// OnlyShardsLeft checks that nothing is left but containers with what the engine runs for these.
func (p *Project) OnlyShardsLeft() {
	p.T.Helper()
	var left []string
	Eventually(func() bool {
		left = nil
		for _, pid := range p.Processes(nil) {
			if line := cmdline(pid); !strings.Contains(line, p.Engine.Monitor()) {
				left = append(left, line)
			}
		}
		return len(left) == 0
	})
	for _, line := range left {
		p.T.Errorf("left: %s", line)
	}
	p.noFiles()
}

// NothingOn checks that an engine of the test's own has nothing but its images.
func NothingOn(t *testing.T, e Engine) {
	t.Helper()
	var left []string
	Eventually(func() bool {
		left = e.LeftInAll(t)
		return len(left) == 0
	})
	for _, l := range left {
		t.Errorf("left on the engine: %s", l)
	}
	if len(left) > 0 {
		e.Clear(t) // the next test has its own
	}
}
