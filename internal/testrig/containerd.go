package testrig

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/berth-run/berth/backends/containerd"
)

// engineStart bounds the wait for an engine's socket.
const engineStart = time.Minute

// ContainerdAsRoot starts a containerd of its own as root, with everything of it in one folder, and
// connects to it. It ends with the test.
func ContainerdAsRoot(t testing.TB) *containerd.Backend {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a container engine: run without -short")
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root: run `make test` as root")
	}
	needCommands(t, "containerd", "runc")
	dir := engineDir(t)
	socket := filepath.Join(dir, "run", "c.sock")
	start(t, exec.Command("containerd", "--config", engineConfig(t, dir, socket)), func() string { return socket })
	return connect(t, containerd.Options{Address: socket})
}

// ContainerdRootless starts a rootless containerd, below rootlesskit, and finds it as berth does. It ends
// with the test.
func ContainerdRootless(t testing.TB) *containerd.Backend {
	t.Helper()
	NeedRootless(t)
	needCommands(t, "containerd", "runc", "rootlesskit", "newuidmap")
	dir := engineDir(t)
	state := filepath.Join(dir, "containerd-rootless")
	socket := "/run/containerd/containerd.sock"
	// Of /run the engine has a copy, with a link where the machine's containerd has its folder.
	cmd := exec.Command("rootlesskit", "--state-dir="+state, "--net=host", "--copy-up=/etc", "--copy-up=/run", "--propagation=rslave",
		"sh", "-c", `rm -rf /run/containerd && exec containerd --config "$1"`, "sh", engineConfig(t, dir, socket))
	start(t, cmd, func() string {
		pid, _ := os.ReadFile(filepath.Join(state, "child_pid"))
		return "/proc/" + string(pid) + "/root" + socket
	})
	t.Setenv("XDG_RUNTIME_DIR", dir)
	t.Setenv("CONTAINERD_ADDRESS", "")
	return connect(t, containerd.Options{})
}

// engineConfig writes an engine's, with all that it keeps below dir.
func engineConfig(t testing.TB, dir, socket string) string {
	t.Helper()
	config := fmt.Sprintf(`version = 2
root = %q
state = %q
disabled_plugins = ["io.containerd.grpc.v1.cri"]
[grpc]
  address = %q
`, filepath.Join(dir, "root"), filepath.Join(dir, "state"), socket)
	file := filepath.Join(dir, "config.toml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// engineDir is a folder for an engine. It's short, for the sockets in it; a shard's root goes through it to
// its root file system; and it must be empty of mounts when the test has ended: else it can't be removed,
// and the test fails.
func engineDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "berth-ctd-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := removeEngine(dir); err != nil {
			t.Errorf("something of the engine is left: %v", err)
		}
	})
	return dir
}

// removeEngine removes an engine's folder; a rootless one's files have subordinate ids.
func removeEngine(dir string) error {
	if os.Geteuid() != 0 {
		_ = exec.Command("rootlesskit", "rm", "-rf", filepath.Join(dir, "root")).Run()
	}
	return os.RemoveAll(dir)
}

func needCommands(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("no %s: run `scripts/prereqs --tests`", name)
		}
	}
}

// start runs an engine until the test ends, and waits for its socket.
func start(t testing.TB, cmd *exec.Cmd, socket func() string) {
	t.Helper()
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-ended
		if t.Failed() {
			t.Logf("the engine's log:\n%s", tail(log.Bytes()))
		}
	})
	deadline := time.After(engineStart)
	for {
		if _, err := os.Stat(socket()); err == nil {
			return
		}
		select {
		case <-ended:
			t.Fatalf("%s ended:\n%s", cmd, tail(log.Bytes()))
		case <-deadline:
			t.Fatalf("%s opened no socket in %v", cmd, engineStart)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// tail is the last 8 KiB.
func tail(b []byte) []byte { return b[max(0, len(b)-8<<10):] }

func connect(t testing.TB, o containerd.Options) *containerd.Backend {
	t.Helper()
	b, err := containerd.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("closing containerd: %v", err)
		}
	})
	return b
}
