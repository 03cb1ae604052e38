package podman_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/backends/backendtest"
	"github.com/berth-run/berth/backends/podman"
	"github.com/berth-run/berth/internal/testrig"
	"github.com/berth-run/berth/oci"
)

// envOwner makes the test binary a process that starts a service, says so and waits.
const envOwner = "BERTH_TEST_SERVICE_OWNER"

func TestMain(m *testing.M) {
	if os.Getenv(envOwner) != "" {
		os.Exit(owner())
	}
	os.Exit(m.Run())
}

func owner() int {
	b, err := podman.New(context.Background(), podman.Options{})
	if err != nil {
		println(err.Error())
		return 1
	}
	os.Stdout.WriteString(podman.ServiceSocket(b) + "\n")
	time.Sleep(time.Hour)
	return 0
}

// privateHost is the environment of a user who never ran Podman, with tools in front of the PATH. Its
// pause process ends with the test.
func privateHost(t *testing.T) []string {
	t.Helper()
	base, err := os.MkdirTemp(os.Getenv("XDG_RUNTIME_DIR"), "berth-test-")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"home", "run", "bin", "tmp"} {
		if err := os.Mkdir(filepath.Join(base, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if b, err := os.ReadFile(filepath.Join(base, "run/libpod/tmp/pause.pid")); err == nil {
			if pid, err := strconv.Atoi(strings.TrimSpace(string(b))); err == nil {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		err := os.RemoveAll(base)
		for late := time.Now().Add(time.Minute); err != nil && time.Now().Before(late); time.Sleep(20 * time.Millisecond) {
			err = os.RemoveAll(base) // what was killed may be at its end yet, and write there
		}
		if err != nil {
			t.Error(err)
		}
	})
	script := "#!/bin/sh\necho called >>" + filepath.Join(base, "dbus-launched") + "\nexit 1\n"
	if err := os.WriteFile(filepath.Join(base, "bin/dbus-launch"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	env := []string{
		"HOME=" + filepath.Join(base, "home"), "XDG_RUNTIME_DIR=" + filepath.Join(base, "run"), "TMPDIR=" + filepath.Join(base, "tmp"),
		"PATH=" + filepath.Join(base, "bin") + ":" + os.Getenv("PATH"), "BASE=" + base,
	}
	for _, e := range os.Environ() {
		switch name, _, _ := strings.Cut(e, "="); name {
		case "HOME", "PATH", "TMPDIR", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "CONTAINER_HOST":
		default:
			env = append(env, e)
		}
	}
	return env
}

// startOwner runs owner on a private host.
func startOwner(t *testing.T) (cmd *exec.Cmd, socket, base string) {
	t.Helper()
	testrig.NeedRootless(t)
	env := privateHost(t)
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(env, envOwner+"=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return cmd, strings.TrimSpace(line), value(env, "BASE")
}

// TestServiceEndsWithOwner kills the owner with -9 and looks for what remains, as a user who never ran
// Podman: that is when it re-executes itself, and makes its pause process.
func TestServiceEndsWithOwner(t *testing.T) {
	cmd, socket, base := startOwner(t)
	if _, err := os.Stat(socket); err != nil {
		t.Fatal(err)
	}
	scratch, err := filepath.Glob(filepath.Join(base, "tmp/berth-podman-*"))
	if err != nil || len(scratch) != 1 {
		t.Fatalf("Podman's temporary folders: %v, %v", scratch, err)
	}
	if err := os.WriteFile(filepath.Join(scratch[0], "half an image"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the socket's folder is gone", func() bool {
		_, err := os.Stat(filepath.Dir(socket))
		return os.IsNotExist(err)
	})
	eventually(t, "no service runs", func() bool { return len(processesWith(t, socket)) == 0 })
	eventually(t, "its temporary folder is gone", func() bool {
		_, err := os.Stat(scratch[0])
		return os.IsNotExist(err)
	})
}

// TestServiceLaunchesNoBus ends the inner of the service's two processes: then the outer one asks the
// session bus to move the pause process it has made, and would launch a bus for that.
func TestServiceLaunchesNoBus(t *testing.T) {
	_, socket, base := startOwner(t)
	for _, p := range processesWith(t, socket) {
		if p.inner {
			if err := syscall.Kill(p.pid, syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
		}
	}
	eventually(t, "no service runs", func() bool { return len(processesWith(t, socket)) == 0 })
	if b, err := os.ReadFile(filepath.Join(base, "dbus-launched")); err == nil {
		t.Errorf("dbus-launch was called %d times", strings.Count(string(b), "\n"))
	}
}

// TestServiceSaysWhy takes tools away from a user, and wants one line with what to install.
func TestServiceSaysWhy(t *testing.T) {
	testrig.NeedRootless(t)
	for missing, want := range map[string]string{
		"podman":    "no podman command: install Podman",
		"newuidmap": "install newuidmap and newgidmap",
	} {
		t.Run(missing, func(t *testing.T) {
			env := privateHost(t)
			bin := filepath.Join(value(env, "BASE"), "tools")
			linkTools(t, bin, missing)
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(env, envOwner+"=1", "PATH="+bin)
			out, err := cmd.CombinedOutput()
			said := strings.TrimSpace(string(out))
			if err == nil || !strings.HasPrefix(said, "container engine unavailable: ") || !strings.Contains(said, want) || strings.Contains(said, "\n") {
				t.Errorf("%v: said %q", err, said)
			}
		})
	}
}

// linkTools makes a folder with what a service needs, but for one tool.
func linkTools(t *testing.T, dir, missing string) {
	t.Helper()
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, tool := range []string{"podman", "sh", "cat", "rm", "rmdir", "sleep", "newuidmap", "newgidmap"} {
		path, err := exec.LookPath(tool)
		if err != nil {
			t.Fatal(err)
		}
		if tool != missing {
			if err := os.Symlink(path, filepath.Join(dir, tool)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestClose leaves neither process nor file, and may come twice.
func TestClose(t *testing.T) {
	b := testrig.Podman(t)
	socket := podman.ServiceSocket(b)
	if socket == "" {
		t.Skip("a Podman socket is open here, so no service was started")
	}
	for range 2 {
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(filepath.Dir(socket)); !os.IsNotExist(err) {
		t.Errorf("%s is left (%v)", filepath.Dir(socket), err)
	}
	if left := processesWith(t, socket); len(left) > 0 {
		t.Errorf("left: %+v", left)
	}
}

func value(env []string, name string) string {
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			return v
		}
	}
	return ""
}

// process is one that processesWith found; inner says that its parent is one, too, of the same name.
type process struct {
	pid   int
	args  string
	inner bool
}

// processesWith lists the processes whose command line holds text.
func processesWith(t *testing.T, text string) []process {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []process
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil || !strings.Contains(string(b), text) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(p)))
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, process{pid: pid, args: string(b), inner: parentArgs(pid) == string(b)})
	}
	return found
}

func parentArgs(pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	fields := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	args, _ := os.ReadFile("/proc/" + fields[1] + "/cmdline")
	return string(args)
}

// eventually waits for what another process does in its own time.
func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for !f() {
		select {
		case <-ctx.Done():
			t.Fatalf("never came: %s", what)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// TestServiceStartedAgain kills the service under a shard, more than once. Whoever asks next has it again, one
// for all, in the same place; and shards live on.
func TestServiceStartedAgain(t *testing.T) {
	var socket string
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	t.Cleanup(func() { // after the backend is closed
		if left := processesWith(t, socket); socket != "" && len(left) > 0 {
			t.Errorf("left: %+v", left)
		}
		if left, err := filepath.Glob(filepath.Join(tmp, "berth-podman-*")); err != nil || len(left) > 0 {
			t.Errorf("left: %v, %v", left, err)
		}
	})
	r := newRig(t)
	socket = podman.ServiceSocket(r.Backend)
	if socket == "" {
		t.Skip("a Podman socket is open here, so no service was started")
	}
	s := r.start(t, r.config(t, oci.ShardSpec{Args: []string{backendtest.ProbePath, "pause"}}))
	for _, supervised := range []bool{true, false} {
		killServices(t, socket, supervised)
		var asking errgroup.Group
		for i := range 4 {
			asking.Go(func() error {
				if i%2 == 0 {
					_, err := r.Backend.List(t.Context(), nil)
					return err
				}
				st, err := s.Exec(t.Context(), backends.Process{Args: []string{backendtest.ProbePath, "exit", "3"}})
				if err == nil && st.Code != 3 {
					err = fmt.Errorf("exit code %d", st.Code)
				}
				return err
			})
		}
		if err := asking.Wait(); err != nil {
			t.Fatal(err)
		}
		if n := len(services(t, socket)); n != 1 {
			t.Errorf("%d services run", n)
		}
	}
	if again := podman.ServiceSocket(r.Backend); again != socket {
		t.Errorf("it listens at %s, was %s", again, socket)
	}
	if err := s.Remove(t.Context()); err != nil {
		t.Error(err)
	}
}

// services are the processes of a socket's Podman; of one that has re-executed itself, the outer.
func services(t *testing.T, socket string) (found []process) {
	t.Helper()
	for _, p := range processesWith(t, socket) {
		if strings.Contains(p.args, "system\x00service\x00") && !p.inner {
			found = append(found, p)
		}
	}
	return found
}

// killServices kills them all, unless supervised with those that would clean up after them, and waits until
// nobody listens.
func killServices(t *testing.T, socket string, supervised bool) {
	t.Helper()
	for _, p := range processesWith(t, socket) {
		if !supervised || strings.Contains(p.args, "system\x00service\x00") {
			_ = syscall.Kill(p.pid, syscall.SIGKILL) // an inner one may have gone with the outer
		}
	}
	eventually(t, "nobody listens", func() bool {
		c, err := net.Dial("unix", socket)
		if err == nil {
			c.Close()
		}
		return err != nil && len(services(t, socket)) == 0
	})
}
