package testrig

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// engineStart bounds the wait for an engine to listen, and for its end.
const engineStart = 3 * time.Minute

// Containerd is a containerd that a test runs.
type Containerd struct {
	// Dir has everything of it. It's short, for the sockets in it; and a shard's root goes through it to its
	// root file system.
	Dir string
	// Env is what a process finds it by.
	Env []string

	t       testing.TB
	address string // of its socket, as it has it itself
	disk    string // the size of its storage's file system, "" for the machine's own
	state   string // of a rootless one's rootlesskit, "" for one that root runs
	log     log
	pid     int           // of the supervisor, or what started it
	ended   chan struct{} // the supervisor has
}

// Option is of an engine to start.
type Option func(*Containerd)

// OnDisk gives the engine's storage a file system of its own, of a size as mount(8) has it.
func OnDisk(size string) Option { return func(e *Containerd) { e.disk = size } }

// supervisor runs an engine again and again, while there is a file $1/up, and ends with an engine that
// ends by itself.
const supervisor = `
if [ -n "$3" ]; then
	mkdir "$1/root"
	mount -t tmpfs -o mode=0711,size="$3" tmpfs "$1/root"
fi
set +e
trap 'kill "$pid"; wait "$pid"; exit' TERM
while :; do
	if [ -e "$1/up" ]; then
		containerd --config "$1/config.toml" & pid=$!
		echo "$pid" >"$1/pid.new"
		mv "$1/pid.new" "$1/pid"
		wait "$pid"
		status=$?
		[ "$status" -ge 128 ] || exit "$status"
	else
		sleep 0.05
	fi
done`

func newContainerd(t testing.TB, options []Option) *Containerd {
	t.Helper()
	dir, err := os.MkdirTemp("", "berth-ctd-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	e := &Containerd{Dir: dir, t: t, ended: make(chan struct{})}
	for _, o := range options {
		o(e)
	}
	t.Cleanup(func() {
		if err := e.remove(); err != nil {
			t.Errorf("something of the engine is left: %v", err)
		}
	})
	return e
}

// remove removes the engine's folder; a rootless one's files have subordinate ids.
func (e *Containerd) remove() error {
	if e.state != "" {
		_ = exec.Command("rootlesskit", "rm", "-rf", e.path("root")).Run()
	}
	return os.RemoveAll(e.Dir)
}

func (e *Containerd) path(name string) string { return filepath.Join(e.Dir, name) }

// launch starts the engine and what keeps it, until the test ends.
func (e *Containerd) launch(cmd *exec.Cmd) {
	t := e.t
	t.Helper()
	config := fmt.Sprintf(`version = 2
root = %q
state = %q
disabled_plugins = ["io.containerd.grpc.v1.cri"]
[debug]
  level = "warn"
[grpc]
  address = %q
`, e.path("root"), e.path("state"), e.address)
	if err := os.WriteFile(e.path("config.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = &e.log, &e.log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	e.pid = cmd.Process.Pid
	go func() {
		_ = cmd.Wait()
		close(e.ended)
	}()
	t.Cleanup(func() {
		var mounts []string
		for late := time.Now().Add(engineStart); time.Now().Before(late); time.Sleep(20 * time.Millisecond) {
			if mounts = e.Mounts(); len(mounts) == 0 { // what was told to end may be at its end yet
				break
			}
		}
		for _, m := range mounts {
			t.Errorf("the engine has a mount left: %s", m)
		}
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-e.ended
		if t.Failed() {
			t.Logf("the engine's log:\n%s", e.log.tail())
		}
	})
	e.Start()
}

// child is the process that has the engine's namespaces.
func (e *Containerd) child() int {
	if e.state == "" {
		return e.pid
	}
	text, _ := os.ReadFile(filepath.Join(e.state, "child_pid")) // none yet: no process
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return pid
}

// Mounts are the engine's for its shards, as in mountinfo. They are its own, those of its namespace.
func (e *Containerd) Mounts() (mounts []string) {
	all, err := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", e.child()))
	if err != nil {
		e.t.Error(err)
	}
	for line := range strings.Lines(string(all)) {
		if strings.Contains(line, " "+e.path("state")+"/") {
			mounts = append(mounts, strings.TrimSpace(line))
		}
	}
	return mounts
}

// Root is put before a path of the engine's to reach it from here: it's "" for one that root runs.
func (e *Containerd) Root() string {
	if e.state == "" {
		return ""
	}
	return fmt.Sprintf("/proc/%d/root", e.child())
}

// Storage is the folder with all that the engine stores, as it is reached from here: its mounts are its own.
func (e *Containerd) Storage() string {
	return fmt.Sprintf("/proc/%d/root%s", e.child(), e.path("root"))
}

// Socket is the engine's as it is seen from here.
func (e *Containerd) Socket() string { return e.Root() + e.address }

// FIFODir is where berth has its FIFOs for execs.
func (e *Containerd) FIFODir() string { return filepath.Join(filepath.Dir(e.Socket()), "berth-fifo") }

// Start starts the engine, if it was stopped, and waits until it listens.
func (e *Containerd) Start() {
	e.t.Helper()
	if err := os.WriteFile(e.path("up"), nil, 0o600); err != nil {
		e.t.Fatal(err)
	}
	e.await("listen", func() bool {
		c, err := net.Dial("unix", e.Socket())
		return err == nil && c.Close() == nil
	})
}

// Stop kills the engine, and nothing of what it has started: shards and their shims live on.
func (e *Containerd) Stop() {
	e.t.Helper()
	if err := os.Remove(e.path("up")); err != nil {
		e.t.Fatal(err)
	}
	text, err := os.ReadFile(e.path("pid"))
	if err != nil {
		e.t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		e.t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		e.t.Fatalf("killing the engine: %v", err)
	}
	e.await("end", func() bool { return syscall.Kill(pid, 0) != nil })
}

// Restart stops the engine and starts it again.
func (e *Containerd) Restart() {
	e.t.Helper()
	e.Stop()
	e.Start()
}

func (e *Containerd) await(what string, is func() bool) {
	e.t.Helper()
	for late := time.After(engineStart); !is(); {
		select {
		case <-e.ended:
			e.t.Fatalf("containerd ended by itself:\n%s", e.log.tail())
		case <-late:
			e.t.Fatalf("containerd didn't %s in %v:\n%s", what, engineStart, e.log.tail())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// log is what an engine printed.
type log struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

// tail is the last 8 KiB.
func (l *log) tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.buf.Bytes()
	return string(b[max(0, len(b)-8<<10):])
}
