package containerd

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/containerd/containerd/v2/client"

	"github.com/berth-run/berth/backends"
)

// defaultAddress is where a containerd listens that nobody told otherwise.
const defaultAddress = "/run/containerd/containerd.sock"

// engine is where a containerd is, and how its files are seen from here.
type engine struct {
	// address is the socket's path as the engine has it.
	address string
	// root is put before the engine's paths to reach them from here: /proc/PID/root of a rootless engine's
	// mount namespace, "" where both see the same.
	root     string
	rootless bool
}

func (e engine) socket() string { return e.root + e.address }

// fifoDir is where FIFOs are made, as the engine has it: beside the socket, so that who mounts the
// socket's folder into a container shares this one too.
func (e engine) fifoDir() string { return filepath.Join(filepath.Dir(e.address), "berth-fifo") }

// shimSocket is where the shim of a shard listens, as it's seen from here (SocketAddress of containerd's
// pkg/shim).
func (e engine) shimSocket(shard string) string {
	return fmt.Sprintf("%s/run/containerd/s/%x", e.root, sha256.Sum256([]byte(filepath.Join(e.address, Namespace, shard))))
}

// removeSocket removes what a shim leaves that didn't end by itself, or was never quite there. A rootless
// engine's folder of these is closed to its own user, and goes with the engine.
func (e engine) removeSocket(shard string) error {
	err := os.Remove(e.shimSocket(shard))
	if err == nil || errors.Is(err, os.ErrNotExist) || e.rootless && errors.Is(err, os.ErrPermission) {
		return nil
	}
	return fmt.Errorf("removing a shim's socket: %w", err)
}

// finder looks for an engine; its fields are the host.
type finder struct {
	getenv   func(string) string
	euid     int
	readFile func(string) ([]byte, error)
	// rootless tells whether who listens at a socket runs in a user namespace of an ordinary user.
	rootless func(socket string) bool
	connect  func(ctx context.Context, e engine, o Options) (*client.Client, error)
}

func hostFinder() finder {
	return finder{getenv: os.Getenv, euid: os.Geteuid(), readFile: os.ReadFile, rootless: isRootless, connect: connect}
}

// find gives the first engine that answers.
func (f finder) find(ctx context.Context, o Options) (engine, *client.Client, error) {
	var tried []error
	for _, try := range f.candidates(o) {
		e, err := try()
		if err == nil {
			var c *client.Client
			if c, err = f.connect(ctx, e, o); err == nil {
				return e, c, nil
			}
		}
		if ctx.Err() != nil {
			return engine{}, nil, context.Cause(ctx)
		}
		tried = append(tried, err)
	}
	return engine{}, nil, fmt.Errorf("%w: no containerd answers: %w; start one (as root: `systemctl start containerd`; for yourself: `containerd-rootless-setuptool.sh install`), or set CONTAINERD_ADDRESS",
		backends.ErrUnavailable, errors.Join(tried...))
}

func (f finder) candidates(o Options) []func() (engine, error) {
	for _, meant := range []string{o.Address, f.getenv("CONTAINERD_ADDRESS")} {
		if meant != "" {
			return []func() (engine, error){func() (engine, error) { return f.at(meant), nil }}
		}
	}
	all := []func() (engine, error){func() (engine, error) { return f.at(defaultAddress), nil }}
	if f.euid != 0 {
		all = append([]func() (engine, error){f.child}, all...)
	}
	return all
}

// at is an engine by the path of its socket.
func (f finder) at(address string) engine {
	address = strings.TrimPrefix(address, "unix://")
	return engine{address: address, rootless: f.rootless(address)}
}

// child finds this user's rootless engine by the state of its rootlesskit.
func (f finder) child() (engine, error) {
	dir := f.getenv("CONTAINERD_ROOTLESS_ROOTLESSKIT_STATE_DIR")
	if dir == "" {
		run := f.getenv("XDG_RUNTIME_DIR")
		if run == "" {
			return engine{}, errors.New("XDG_RUNTIME_DIR isn't set, so there's no telling where a rootless one would be: log in by a real session (not by su)")
		}
		dir = filepath.Join(run, "containerd-rootless")
	}
	pid, err := f.readFile(filepath.Join(dir, "child_pid"))
	if err != nil {
		return engine{}, fmt.Errorf("no rootless one runs: %w", err)
	}
	root := fmt.Sprintf("/proc/%s/root", strings.TrimSpace(string(pid)))
	return engine{address: defaultAddress, root: root, rootless: true}, nil
}

// connect waits for the engine's first answer.
func connect(ctx context.Context, e engine, o Options) (*client.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, o.DialTimeout)
	defer cancel()
	if _, err := os.Stat(e.socket()); err != nil {
		return nil, err
	}
	c, err := client.New(e.socket(), client.WithDefaultNamespace(Namespace), client.WithTimeout(o.DialTimeout))
	if err != nil {
		return nil, err
	}
	if _, err := c.Version(ctx); err != nil {
		_ = c.Close()
		if errors.Is(err, os.ErrPermission) || strings.Contains(err.Error(), "permission denied") {
			return nil, fmt.Errorf("%s may only be used by root: %w", e.socket(), err)
		}
		return nil, fmt.Errorf("%s: %w", e.socket(), err)
	}
	return c, nil
}
