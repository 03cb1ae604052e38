package testrig

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/berth-run/berth/backends/containerd"
)

// engineStart bounds the wait for an engine's socket.
const engineStart = time.Minute

// EngineAddress is an engine's own in its network, and the nameserver that its shards are told.
const EngineAddress = "10.0.2.100"

// ContainerdAsRoot starts a containerd of its own as root, with everything of it in one folder and with a
// network that isn't the machine's, and connects to it. It ends with the test.
func ContainerdAsRoot(t testing.TB) *containerd.Backend {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a container engine: run without -short")
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root: run `make test` as root")
	}
	needCommands(t, "containerd", "runc", "unshare", "ip", "iptables")
	dir := engineDir(t)
	socket := filepath.Join(dir, "run", "c.sock")
	resolv := filepath.Join(dir, "resolv.conf")
	if err := os.WriteFile(resolv, []byte("nameserver "+EngineAddress+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("unshare", "--net", "--mount", "sh", "-ec",
		`ip link set lo up; ip addr add "$1"/32 dev lo; mount --bind "$2" "$(readlink -f /etc/resolv.conf)"; exec containerd --config "$3"`,
		"sh", EngineAddress, resolv, engineConfig(t, dir, socket))
	start(t, cmd, dir, func() (string, int) { return socket, cmd.Process.Pid })
	return connect(t, containerd.Options{Address: socket})
}

// ContainerdRootless starts a rootless containerd, below rootlesskit, and finds it as berth does. It ends
// with the test.
func ContainerdRootless(t testing.TB) *containerd.Backend {
	t.Helper()
	NeedRootless(t)
	needCommands(t, "containerd", "runc", "rootlesskit", "newuidmap", "slirp4netns")
	dir := engineDir(t)
	state := filepath.Join(dir, "containerd-rootless")
	socket := "/run/containerd/containerd.sock"
	// Of /run the engine has a copy, with a link where the machine's containerd has its folder.
	cmd := exec.Command("rootlesskit", "--state-dir="+state, "--net=slirp4netns", "--mtu=65520", "--disable-host-loopback",
		"--copy-up=/etc", "--copy-up=/run", "--copy-up=/var/lib", "--propagation=rslave",
		"sh", "-ec", `rm -rf /run/containerd /run/xtables.lock /var/lib/cni /etc/resolv.conf; echo "nameserver $1" >/etc/resolv.conf; exec containerd --config "$2"`,
		"sh", EngineAddress, engineConfig(t, dir, socket))
	start(t, cmd, dir, func() (string, int) {
		b, _ := os.ReadFile(filepath.Join(state, "child_pid"))
		pid, _ := strconv.Atoi(string(b))
		return fmt.Sprintf("/proc/%d/root%s", pid, socket), pid
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

// engineDir is a folder for an engine. It's short, for the sockets in it; and a shard's root goes through it
// to its root file system.
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

// start runs an engine, which has its things in dir, until the test ends, and waits for its socket. Its
// mounts are its own, those of its process: none may be left when the test has ended.
func start(t testing.TB, cmd *exec.Cmd, dir string, engine func() (socket string, pid int)) {
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
		_, pid := engine()
		if mounts, err := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", pid)); err == nil && bytes.Contains(mounts, []byte(" "+dir+"/state/")) {
			t.Errorf("the engine has mounts left:\n%s", mounts)
		}
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-ended
		if t.Failed() {
			t.Logf("the engine's log:\n%s", tail(log.Bytes()))
		}
	})
	deadline := time.After(engineStart)
	for {
		socket, _ := engine()
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
