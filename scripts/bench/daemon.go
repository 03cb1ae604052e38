package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// daemon is an engine that the bench started, with everything of it in one folder.
type daemon struct {
	dir string
	cmd *exec.Cmd
	log bytes.Buffer
	// ended is closed when it has.
	ended chan struct{}
}

const (
	daemonStart = time.Minute
	daemonStop  = 30 * time.Second
)

// startDaemon runs an engine and waits until there is a file at socket.
func startDaemon(ctx context.Context, dir string, cmd *exec.Cmd, socket func() string) (*daemon, error) {
	d := &daemon{dir: dir, cmd: cmd, ended: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = &d.log, &d.log
	// A group of its own: the terminal's Ctrl-C is for the bench, which still has to clean up.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = cmd.Wait()
		close(d.ended)
	}()
	deadline := time.After(daemonStart)
	for {
		if _, err := os.Stat(socket()); err == nil {
			return d, nil
		}
		var err error
		select {
		case <-ctx.Done():
			err = context.Cause(ctx)
		case <-d.ended:
			err = fmt.Errorf("%s ended: %s", filepath.Base(cmd.Path), d.last())
		case <-deadline:
			err = fmt.Errorf("%s opened no socket in %v", filepath.Base(cmd.Path), daemonStart)
		case <-time.After(20 * time.Millisecond):
			continue
		}
		return nil, errors.Join(err, d.stop())
	}
}

// last is the log's last line.
func (d *daemon) last() string {
	lines := strings.Split(strings.TrimSpace(d.log.String()), "\n")
	return lines[len(lines)-1]
}

// stop ends the engine by its pid, and removes its folder.
func (d *daemon) stop() error {
	if d == nil {
		return nil
	}
	_ = d.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-d.ended:
	case <-time.After(daemonStop):
		_ = d.cmd.Process.Kill()
		<-d.ended
	}
	return removeDaemonDir(d.dir)
}

// removeDaemonDir: a rootless engine's files have subordinate ids.
func removeDaemonDir(dir string) error {
	if os.Geteuid() != 0 {
		_ = exec.Command("rootlesskit", "rm", "-rf", filepath.Join(dir, "root")).Run()
	}
	return os.RemoveAll(dir)
}

// daemonDir is short, for the sockets in it; a shard's root goes through it to its root file system.
func daemonDir() (string, error) {
	dir, err := os.MkdirTemp("", "berth-bench-")
	if err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o711)
}

func containerdConfig(dir, socket string) (string, error) {
	file := filepath.Join(dir, "config.toml")
	return file, os.WriteFile(file, fmt.Appendf(nil, `version = 2
root = %q
state = %q
disabled_plugins = ["io.containerd.grpc.v1.cri"]
[grpc]
  address = %q
`, filepath.Join(dir, "root"), filepath.Join(dir, "state"), socket), 0o600)
}

// startContainerd is root's.
func startContainerd(ctx context.Context) (d *daemon, socket string, err error) {
	dir, err := daemonDir()
	if err != nil {
		return nil, "", err
	}
	socket = filepath.Join(dir, "run", "c.sock")
	config, err := containerdConfig(dir, socket)
	if err == nil {
		d, err = startDaemon(ctx, dir, exec.Command("containerd", "--config", config), func() string { return socket })
	}
	return d, socket, err
}

// rootlessSocket is where a rootless containerd's is, in its own mount namespace.
const rootlessSocket = "/run/containerd/containerd.sock"

// envState is where berth looks for a rootless containerd, and so where this one is started.
const envState = "CONTAINERD_ROOTLESS_ROOTLESSKIT_STATE_DIR"

// startRootless is a user's; pid is that of its rootlesskit's child.
func startRootless(ctx context.Context) (d *daemon, pid func() string, err error) {
	state := os.Getenv(envState)
	if state == "" {
		return nil, nil, fmt.Errorf("%s isn't set, as scripts/run-bench does", envState)
	}
	dir := filepath.Dir(state)
	if err := os.Mkdir(dir, 0o711); err != nil {
		return nil, nil, err
	}
	config, err := containerdConfig(dir, rootlessSocket)
	if err != nil {
		return nil, nil, err
	}
	pid = func() string {
		b, _ := os.ReadFile(filepath.Join(state, "child_pid"))
		return strings.TrimSpace(string(b))
	}
	// Of /run the engine has a copy, with a link where the machine's containerd has its folder.
	cmd := exec.Command("rootlesskit", "--state-dir="+state, "--net=host", "--copy-up=/etc", "--copy-up=/run", "--propagation=rslave",
		"sh", "-c", `rm -rf /run/containerd && exec containerd --config "$1"`, "sh", config)
	d, err = startDaemon(ctx, dir, cmd, func() string { return "/proc/" + pid() + "/root" + rootlessSocket })
	return d, pid, err
}

// startDocker is a Docker of the bench's own, with its own data, socket and pid file, and no bridge.
func startDocker(ctx context.Context) (d *daemon, docker []string, err error) {
	program, err := debianDocker()
	if err != nil {
		return nil, nil, err
	}
	dir, err := daemonDir()
	if err != nil {
		return nil, nil, err
	}
	socket := filepath.Join(dir, "d.sock")
	cmd := exec.Command("dockerd", "--data-root="+filepath.Join(dir, "root"), "--exec-root="+filepath.Join(dir, "exec"),
		"--host=unix://"+socket, "--pidfile="+filepath.Join(dir, "pid"), "--config-file="+filepath.Join(dir, "none.json"),
		"--bridge=none", "--iptables=false", "--ip6tables=false")
	if err := os.WriteFile(filepath.Join(dir, "none.json"), []byte("{}"), 0o600); err != nil {
		return nil, nil, err
	}
	docker = []string{program, "--host=unix://" + socket}
	d, err = startDaemon(ctx, dir, cmd, func() string { return socket })
	if err != nil {
		return nil, nil, err
	}
	// Its socket is there before it answers.
	for try := 0; ; try++ {
		err = exec.CommandContext(ctx, program, docker[1], "version").Run()
		if err == nil || try == 100 || ctx.Err() != nil {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("dockerd doesn't answer: %w: %s", err, d.last()), d.stop())
	}
	return d, docker, nil
}

// debianDocker is the client that belongs to the daemon, whatever else is called docker here.
func debianDocker() (string, error) {
	daemon, err := exec.LookPath("dockerd")
	if err != nil {
		return "", errors.New("no dockerd: `scripts/prereqs --bench` installs Debian's docker.io")
	}
	for _, dir := range []string{filepath.Dir(daemon), "/usr/bin"} {
		if program, err := exec.LookPath(filepath.Join(dir, "docker")); err == nil {
			return program, nil
		}
	}
	return "", fmt.Errorf("no docker command beside %s", daemon)
}
