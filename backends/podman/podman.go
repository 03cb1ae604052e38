// Package podman carries shards on Podman 4.3 or later, through its libpod API: over a local socket,
// ssh, a Podman machine, or a `podman system service` of its own. It decides nothing about what a
// shard may do: it translates the runtime spec into Podman's create request, and refuses what that
// can't say.
package podman

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/berth-run/berth/backends"
)

// Options say which Podman to use. The zero value finds one; see New.
type Options struct {
	// URL is unix:///path, ssh://user@host[:port]/path or tcp://host:port.
	URL string
	// Identity is the file of an ssh key, for an ssh URL.
	Identity string
	// Parallel bounds how many shards are created, started and removed at once; 0 means 4. More makes
	// Podman slower, and its database locks up (podman#25886).
	Parallel int
	// DialTimeout bounds each try to reach an engine; 0 means 10 s.
	DialTimeout time.Duration
}

const (
	defaultParallel    = 4
	defaultDialTimeout = 10 * time.Second
)

// Backend is one Podman engine. It implements backends.Backend.
type Backend struct {
	api     *client
	service *service // ours, or nil
	info    backends.Info
	// storage is the engine's folder, which tells it from others of this user's.
	storage string
	// cgroup2 and controllers say which limits can be passed on.
	cgroup2     bool
	controllers map[string]bool
	slots       chan struct{}
	memory      *memory

	// editCreate lets a test change a create request on its way.
	editCreate func(*createRequest)
}

var _ backends.Backend = (*Backend)(nil)

// New connects to a Podman: Options.URL if it's set; else $CONTAINER_HOST if that is; else what
// listens on $XDG_RUNTIME_DIR/podman/podman.sock; else, on macOS, the Podman machine and then the
// default of `podman system connection`; elsewhere a `podman system service` of its own, which is started
// again when it has ended by itself, and ends with Close or with this process, however that ends. The first two are meant: if they fail nothing
// else is tried.
//
// ErrUnavailable tells everything that was tried, ErrUnsupported what the engine lacks.
func New(ctx context.Context, o Options) (*Backend, error) {
	if o.Parallel <= 0 {
		o.Parallel = defaultParallel
	}
	if o.DialTimeout <= 0 {
		o.DialTimeout = defaultDialTimeout
	}
	found, err := hostFinder().find(ctx, o)
	if err != nil {
		return nil, err
	}
	b := &Backend{api: found.client, service: found.service, slots: make(chan struct{}, o.Parallel)}
	if b.service != nil {
		b.api.revive = b.service.revive
	}
	if err := b.learn(ctx, found.remote); err != nil {
		_ = b.Close()
		return nil, err
	}
	return b, nil
}

// Info gives what the engine said when it was connected to.
func (b *Backend) Info(context.Context) (backends.Info, error) { return b.info, nil }

// Close ends the service that New started, if any. Shards live on, and an ssh connection, which the
// bindings give no hold of, until this process ends.
func (b *Backend) Close() error {
	b.api.close()
	return b.service.stop()
}

// learn asks the engine about itself and refuses one that can't carry shards.
func (b *Backend) learn(ctx context.Context, remote bool) error {
	var r infoResponse
	if err := b.api.get(ctx, "/info", nil, &r); err != nil {
		return fmt.Errorf("asking Podman about itself: %w", explain(err))
	}
	if err := r.check(); err != nil {
		return err
	}
	h := r.Host
	b.cgroup2 = h.CgroupVersion == "v2"
	b.controllers = map[string]bool{}
	for _, c := range h.CgroupControllers {
		b.controllers[c] = true
	}
	b.memory = newMemory(remote, h)
	b.storage = r.Store.GraphRoot
	b.info = backends.Info{
		Name:         "podman",
		Version:      r.Version.Version,
		Runtime:      h.OCIRuntime.name(),
		Rootless:     h.Security.Rootless,
		Remote:       remote,
		OS:           h.OS,
		Arch:         h.Arch,
		CPUs:         h.CPUs,
		Controllers:  h.CgroupControllers,
		Capabilities: h.capabilities(),
		NoNetwork:    h.noNetwork(),
		Warnings:     r.warnings(),
	}
	return nil
}

// slot waits for one of the Parallel places among those that change containers.
func (b *Backend) slot(ctx context.Context) (release func(), err error) {
	select {
	case b.slots <- struct{}{}:
		return func() { <-b.slots }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// goos is a constant that tests of the discovery replace.
const goos = runtime.GOOS
