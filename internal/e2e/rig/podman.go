package rig

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/internal/testrig"
)

// Podman is a user's rootless one.
type Podman struct {
	// dir has everything of one that is the test's own; "" for the user's, which other tests use too.
	dir string
}

// NewPodman gives one that nobody else uses, with its own storage, networks and pause process. It goes
// with the test.
func NewPodman(t *testing.T) Podman {
	t.Helper()
	testrig.NeedRootless(t)
	dir, err := os.MkdirTemp("", "berth-pod-")
	if err != nil {
		t.Fatal(err)
	}
	e := Podman{dir}
	t.Cleanup(func() {
		if pid := pausePID(e.runtimeDir()); pid > 0 {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		// The storage is a mount where its own Podman sees it, and has files of subordinate ids.
		PodmanDo(t, "unshare", "rm", "-rf", filepath.Join(dir, "home/.local"))
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("something of the engine is left: %v", err)
		}
	})
	config := filepath.Join(dir, "home/.config/containers")
	for _, name := range []string{config, e.runtimeDir()} {
		if err := os.MkdirAll(name, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	// Where it finds nothing Podman takes vfs, which copies the image for each container.
	if err := os.WriteFile(filepath.Join(config, "storage.conf"), []byte("[storage]\ndriver = \"overlay\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return e
}

// NewPodmanOnDisk is NewPodman with a storage that has a file system of its own, of a size as mount(8) has it.
// It's in the mount namespace that the user's pause process keeps.
func NewPodmanOnDisk(t *testing.T, size string) Podman {
	t.Helper()
	e := NewPodman(t)
	e.do(t, "unshare", "sh", "-ec", `mkdir -p "$1"; mount -t tmpfs -o mode=0700,size="$2" tmpfs "$1"`, "sh", e.storage(), size)
	return e
}

func (e Podman) storage() string { return filepath.Join(e.dir, "home/.local/share/containers/storage") }

// Stored implements Engine.
func (e Podman) Stored(t *testing.T) int64 {
	t.Helper()
	return taken(t, e.do(t, append([]string{"unshare"}, statfs(e.storage())...)...))
}

// PodmanDo runs the command of the user's Podman.
func PodmanDo(t *testing.T, args ...string) string {
	t.Helper()
	return Podman{}.do(t, args...)
}

func (e Podman) do(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("podman", args...)
	cmd.Env = Environment(e.Env()...)
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, exit.Stderr)
		}
		t.Fatalf("podman %s: %v", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out))
}

// Runner implements Engine.
func (Podman) Runner() string { return "podman" }

// Env implements Engine: the user's image cache stays, so that nothing is built twice.
func (e Podman) Env() []string {
	if e.dir == "" {
		return nil
	}
	cache, _ := os.UserCacheDir() // there is a HOME
	return []string{"HOME=" + filepath.Join(e.dir, "home"), "XDG_RUNTIME_DIR=" + e.runtimeDir(), "XDG_CACHE_HOME=" + cache}
}

func (e Podman) runtimeDir() string {
	if e.dir == "" {
		return os.Getenv("XDG_RUNTIME_DIR")
	}
	return filepath.Join(e.dir, "run")
}

// Info implements Engine.
func (Podman) Info(t *testing.T) backends.Info {
	t.Helper()
	info, err := testrig.Podman(t).Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// Shards implements Engine.
func (e Podman) Shards(t *testing.T, runID string) []Shard {
	t.Helper()
	var out []Shard
	raw := e.do(t, "ps", "--all", "--no-trunc", "--format", "json", "--filter", "label=run.berth.run="+runID)
	if err := json.Unmarshal([]byte(raw), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// Remove implements Engine.
func (e Podman) Remove(t *testing.T, id string) {
	t.Helper()
	e.do(t, "rm", "--force", "--time", "0", id)
	for pid := range parents() { // Podman leaves an exec's monitor for five minutes (podman#7391)
		if ArgumentsHold(pid, "conmon", id) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// Wait implements Engine.
func (e Podman) Wait(t *testing.T, id string) int {
	t.Helper()
	status, err := strconv.Atoi(e.do(t, "wait", id))
	if err != nil {
		t.Fatal(err)
	}
	return status
}

// Left implements Engine: processes are looked for elsewhere.
func (e Podman) Left(t *testing.T, containers []string) []string {
	t.Helper()
	return e.left(t, func(text string) bool {
		return slices.ContainsFunc(containers, func(id string) bool { return strings.Contains(text, id) })
	})
}

// LeftInAll implements Engine, where it's the test's own.
func (e Podman) LeftInAll(t *testing.T) []string {
	t.Helper()
	if e.dir == "" {
		return nil
	}
	left := e.left(t, func(text string) bool { return strings.Contains(text, e.dir) || !strings.Contains(text, "/") })
	for _, pattern := range []string{"netns/*", "berth-*", "networks/*/*.json"} {
		files, _ := filepath.Glob(filepath.Join(e.runtimeDir(), pattern)) // only a bad pattern fails
		left = append(left, files...)
	}
	for pid := range parents() {
		if line := cmdline(pid); strings.Contains(line, e.dir) && strings.Contains(line, "conmon") {
			left = append(left, "process "+line)
		}
	}
	return left
}

// left tells what there is of containers where that, or its path, is as asked for.
func (e Podman) left(t *testing.T, is func(string) bool) (left []string) {
	t.Helper()
	for _, id := range strings.Fields(e.do(t, "ps", "--all", "--no-trunc", "--quiet")) {
		if is(id) {
			left = append(left, "container "+id)
		}
	}
	for line := range strings.Lines(e.do(t, "unshare", "cat", "/proc/self/mountinfo")) {
		if strings.Contains(line, "/merged ") && is(line) || strings.Contains(line, "overlay-containers") && is(line) {
			left = append(left, "mount "+strings.TrimSpace(line))
		}
	}
	for _, root := range strings.Fields(e.do(t, "info", "--format", "{{.Store.GraphRoot}} {{.Store.RunRoot}}")) {
		dirs, _ := filepath.Glob(filepath.Join(root, "overlay-containers", strings.Repeat("[0-9a-f]", 64)))
		for _, dir := range dirs {
			if is(dir) {
				left = append(left, dir)
			}
		}
	}
	return left
}

// Clear implements Engine.
func (e Podman) Clear(t *testing.T) {
	t.Helper()
	if e.dir == "" {
		return
	}
	for _, id := range strings.Fields(e.do(t, "ps", "--all", "--no-trunc", "--quiet")) {
		e.Remove(t, id)
	}
}

// Monitor implements Engine.
func (Podman) Monitor() string { return "conmon" }

// Share implements Engine, with a service that no run has started.
func (e Podman) Share(t *testing.T) []string {
	t.Helper()
	socket := filepath.Join(e.runtimeDir(), "shared.sock")
	cmd := exec.Command("podman", "system", "service", "--time=0", "unix://"+socket)
	cmd.Env = Environment(e.Env()...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // it may be two processes
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	})
	if !Eventually(func() bool { return listens(socket) }) {
		t.Fatal("podman system service doesn't listen")
	}
	return []string{"CONTAINER_HOST=unix://" + socket}
}

// Stoppable implements Engine: berth finds another podman command, which a file makes fail.
func (Podman) Stoppable(p *Project) {
	p.T.Helper()
	real, err := exec.LookPath("podman")
	if err != nil {
		p.T.Fatal(err)
	}
	bin := p.Path("bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		p.T.Fatal(err)
	}
	script := fmt.Sprintf("#!/bin/sh\n[ ! -e %q ] || { echo 'Error: stopped' >&2; exit 125; }\nexec %q \"$@\"\n", p.Path("stopped"), real)
	if err := os.WriteFile(filepath.Join(bin, "podman"), []byte(script), 0o700); err != nil {
		p.T.Fatal(err)
	}
	p.Env = append(p.Env, "PATH="+bin+":"+os.Getenv("PATH"))
}

// Restart implements Engine: what is killed is the API's service that berth has started.
func (Podman) Restart(p *Project) {
	p.T.Helper()
	killed := false
	for _, pid := range p.Processes(nil) {
		if ArgumentsHold(pid, "podman system service") && syscall.Kill(pid, syscall.SIGKILL) == nil {
			killed = true
		}
	}
	if !killed {
		p.T.Skip("this user's Podman has an API socket, so berth starts no engine: stop podman.socket to run this")
	}
}

// Stop implements Engine.
func (e Podman) Stop(p *Project) {
	p.T.Helper()
	p.Write("stopped", "")
	e.Restart(p)
}

// Start implements Engine: the next berth does it.
func (Podman) Start(p *Project) {
	p.T.Helper()
	if err := os.Remove(p.Path("stopped")); err != nil {
		p.T.Fatal(err)
	}
}
