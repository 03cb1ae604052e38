package e2e

import (
	"bytes"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// shard is a run's container as Podman's own command tells it, independently of berth.
type shard struct {
	ID     string
	State  string
	Pid    int // of PID 1 on the host
	Labels map[string]string
}

// podmanDo runs Podman's command.
func podmanDo(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("podman", args...).Output()
	if err != nil {
		t.Fatalf("podman %s: %v", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out))
}

// shards are the containers of a run.
func shards(t *testing.T, runID string) []shard {
	t.Helper()
	var out []shard
	raw := podmanDo(t, "ps", "--all", "--no-trunc", "--format", "json", "--filter", "label=run.berth.run="+runID)
	if err := json.Unmarshal([]byte(raw), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// removeShards takes a run's containers away by Podman's own command, for tests that leave some.
func removeShards(t *testing.T, runID string) {
	t.Helper()
	for _, s := range shards(t, runID) {
		podmanDo(t, "rm", "--force", "--time", "0", s.ID)
	}
}

// running gives the one run that is under way and its containers.
func (p *project) running() (runID string, _ []shard) {
	p.t.Helper()
	runs := p.runs()
	if len(runs) == 0 {
		p.t.Fatal("no run has a folder")
	}
	runID = filepath.Base(runs[len(runs)-1])
	return runID, shards(p.t, runID)
}

// nothingLeft checks that nothing of the project's runs is left on this machine: no container, no
// process, no mount, no temporary file.
func (p *project) nothingLeft() {
	p.t.Helper()
	var ids []string
	for _, dir := range p.runs() {
		if left := shards(p.t, filepath.Base(dir)); len(left) > 0 {
			p.t.Errorf("containers are left: %+v", left)
		}
		if r := record(p.t, dir).Runner; r != nil {
			for _, s := range r.Shards {
				ids = append(ids, s.Container)
			}
		}
	}
	p.noTrace(ids...)
}

// noTrace checks that nothing is left of the project's commands, and of containers that are gone.
func (p *project) noTrace(containers ...string) {
	p.t.Helper()
	for _, pid := range p.processes(containers) {
		p.t.Errorf("process %d is left: %s", pid, cmdline(pid))
	}
	mounts := podmanDo(p.t, "unshare", "cat", "/proc/self/mountinfo")
	root := podmanDo(p.t, "info", "--format", "{{.Store.GraphRoot}} {{.Store.RunRoot}}")
	for _, id := range containers {
		if id == "" {
			continue
		}
		if strings.Contains(mounts, id) {
			p.t.Errorf("a mount of %s is left:\n%s", id, mounts)
		}
		for _, dir := range strings.Fields(root) {
			if _, err := os.Stat(filepath.Join(dir, "overlay-containers", id)); err == nil {
				p.t.Errorf("%s of %s is left", dir, id)
			}
		}
	}
	p.noFiles()
}

// noFiles checks the temporary folder, and the runtime folder for sockets that nobody serves.
func (p *project) noFiles() {
	p.t.Helper()
	left, err := os.ReadDir(p.path("tmp"))
	if err != nil {
		p.t.Fatal(err)
	}
	for _, e := range left {
		p.t.Errorf("temporary file %s is left", e.Name())
	}
	dirs, err := filepath.Glob(filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "berth-*"))
	if err != nil {
		p.t.Fatal(err)
	}
	for _, dir := range dirs {
		if !eventually(func() bool { return served(dir) || gone(dir) }) {
			p.t.Errorf("%s is left", dir)
		}
	}
}

// served tells that the folder is a running engine's: another test's.
func served(dir string) bool {
	c, err := net.Dial("unix", filepath.Join(dir, "podman.sock"))
	if err != nil {
		return false
	}
	return c.Close() == nil
}

func gone(path string) bool {
	_, err := os.Stat(path)
	return os.IsNotExist(err)
}

// eventually asks again for some time, for what ends by itself and nobody tells when.
func eventually(is func() bool) bool {
	for late := time.Now().Add(30 * time.Second); time.Now().Before(late); time.Sleep(20 * time.Millisecond) {
		if is() {
			return true
		}
	}
	return is()
}

// processes are those that carry the project's mark in their environment or one of the containers in
// their arguments. Podman's pause process, which is one a user and not one a run, isn't among them.
func (p *project) processes(containers []string) []int {
	p.t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		p.t.Fatal(err)
	}
	pause := pausePID()
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

func pausePID() int {
	b, _ := os.ReadFile(filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "libpod/tmp/pause.pid"))
	pid, _ := strconv.Atoi(strings.TrimSpace(string(b)))
	return pid
}
