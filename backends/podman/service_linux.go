package podman

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/berth-run/berth/backends"
)

// startTimeout bounds how long a service may take to listen: the first start of a user makes its
// storage.
const startTimeout = 30 * time.Second

// supervisor runs the service and ends it when file descriptor 3 closes, which a kill -9 of ours does
// too. The parent-death signal wouldn't do: Podman re-executes itself into its user namespace, or
// joins it by setns, and either loses the signal. In the first case it's two processes, of which the
// outer passes SIGTERM on, but not from its first moment; so both get it. The pause process, which
// Podman leaves to the user's next one, is neither's child.
const supervisor = `podman system service --time=0 "$2" 3<&- &
pid=$!
exec 2>/dev/null # ours may be gone when there is something to say
alive() {
	for p; do
		case $(cat "/proc/$p/stat") in '' | *') Z '*) ;; *) return 0 ;; esac
	done
	return 1
}
{
	read -r _
	trap '' TERM
	all="$pid $(cat /proc/"$pid"/task/*/children)"
	kill $all
	tries=100
	while alive $all; do
		tries=$((tries - 1))
		[ "$tries" -gt 0 ] || kill -9 $all
		sleep 0.05
	done
} <&3 &
ender=$!
exec 3<&-
wait "$pid"
status=$?
kill "$ender" # which it ignores while it is ending the rest
wait "$ender"
rm -f -- "$1"
rmdir -- "${1%/*}"
[ -z "$3" ] || rm -rf -- "$3"
exit "$status"`

// startService runs a `podman system service` on a socket in a private folder (of the runtime
// directory, whose path is short: a socket's has at most 107 bytes) and waits until it listens.
func startService(ctx context.Context) (*service, error) {
	if _, err := exec.LookPath("podman"); err != nil {
		return nil, fmt.Errorf("%w: no podman command: install Podman %s or later (Debian, Ubuntu: `apt install podman`, Fedora: `dnf install podman`)",
			backends.ErrUnavailable, minVersion)
	}
	env, err := serviceEnv(podmanEnv(os.Environ()), os.Getenv, os.Getuid())
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(os.Getenv("XDG_RUNTIME_DIR"), "berth-podman-")
	if err != nil {
		return nil, err
	}
	s := &service{socket: filepath.Join(dir, "podman.sock"), dir: dir, env: env}
	if err := s.start(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// calmGC: Podman copies every piece of an exec's stdin once more, into memory that it drops at once.
// With a collection at each few MiB that is most of what its copying costs.
var calmGC = []string{"GOGC=800"}

func (s *service) spawn() (*child, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	c := &child{alive: w, stderr: new(tail), ended: make(chan struct{})}
	scratch := makeScratch(s.env)
	c.cmd = exec.Command("/bin/sh", "-c", supervisor, "berth-podman", s.socket, unixURL(s.socket), scratch)
	c.cmd.Env = slices.Concat(s.env, noBus(s.env, s.dir), calmGC)
	if scratch != "" {
		c.cmd.Env = append(c.cmd.Env, "TMPDIR="+scratch)
	}
	c.cmd.Stderr = c.stderr
	c.cmd.ExtraFiles = []*os.File{r}
	// A group of its own: the terminal's Ctrl-C is for us, who still need the engine to clean up.
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// The pause process, which outlives the service that made it, holds its stderr.
	c.cmd.WaitDelay = time.Second
	if err := c.cmd.Start(); err != nil {
		_ = os.Remove(scratch) // or there is none
		return nil, errors.Join(err, w.Close())
	}
	go func() {
		c.err = c.cmd.Wait()
		_ = os.RemoveAll(scratch) // which is left by a supervisor that was killed
		close(c.ended)
	}()
	return c, nil
}

// listening waits until the socket takes a connection.
func (s *service) listening(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("`podman system service` didn't listen within %s", startTimeout))
	defer cancel()
	for {
		if c, err := net.Dial("unix", s.socket); err == nil {
			return c.Close()
		}
		select {
		case <-s.child.ended:
			return fmt.Errorf("`podman system service` failed: %s", s.child.failure())
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// serviceEnv gives the service a runtime directory, as a login would have, or says why it can't
// (podman#7938).
func serviceEnv(env []string, getenv func(string) string, uid int) ([]string, error) {
	if uid == 0 || getenv("XDG_RUNTIME_DIR") != "" {
		return env, nil
	}
	dir := filepath.Join("/run/user", strconv.Itoa(uid))
	if fi, err := os.Stat(dir); err == nil && fi.IsDir() {
		return append(env, "XDG_RUNTIME_DIR="+dir), nil
	}
	return nil, fmt.Errorf("%w: XDG_RUNTIME_DIR isn't set and %s doesn't exist, so this user has no login session: "+
		"run `sudo loginctl enable-linger %d` and log in again, or set XDG_RUNTIME_DIR to a private directory",
		backends.ErrUnavailable, dir, uid)
}

// noBus names a bus that isn't there, when there is none. Without an address Podman's D-Bus client
// runs dbus-launch when it moves a pause process that it has made to a scope of its own, and leaves a
// dbus-daemon behind.
func noBus(env []string, dir string) []string {
	if variable(env, "DBUS_SESSION_BUS_ADDRESS") != "" {
		return nil
	}
	runtimeDir := variable(env, "XDG_RUNTIME_DIR")
	if _, err := os.Stat(filepath.Join(runtimeDir, "bus")); err == nil && runtimeDir != "" {
		return nil
	}
	return []string{"DBUS_SESSION_BUS_ADDRESS=unix:path=" + filepath.Join(dir, "no-bus")}
}
