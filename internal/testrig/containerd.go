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
	config := fmt.Sprintf(`version = 2
root = %q
state = %q
disabled_plugins = ["io.containerd.grpc.v1.cri"]
[grpc]
  address = %q
`, filepath.Join(dir, "root"), filepath.Join(dir, "run", "state"), socket)
	file := filepath.Join(dir, "config.toml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, exec.Command("containerd", "--config", file), socket)
	return connect(t, containerd.Options{Address: socket})
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
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("something of the engine is left: %v", err)
		}
	})
	return dir
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
func start(t testing.TB, cmd *exec.Cmd, socket string) {
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
	for deadline := time.After(engineStart); ; {
		if _, err := os.Stat(socket); err == nil {
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
