// Package containerd carries shards on containerd 1.6 or later, through its API, in a namespace of
// their own: one that root runs, or a rootless one. It decides nothing about what a shard may do: the
// runtime spec goes to the engine as it is, with what differs by engine added (id mapping, the path
// of the cgroup, the limits that its controllers can hold).
//
// It needs nothing of the engine's machine but two paths: the socket, and a folder beside that for the
// FIFOs of an exec. All else goes through the API, the root file system too: under root its ids are
// shifted on their way into the engine's snapshots, once for each image, so nothing is mounted here.
package containerd

import (
	"context"
	"fmt"
	"time"

	"github.com/containerd/containerd/v2/client"
	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/berth-run/berth/backends"
)

// Options say which containerd to use. The zero value finds one; see New.
type Options struct {
	// Address is the path of its socket.
	Address string
	// Parallel bounds how many shards are created, started and removed at once; 0 means 4.
	Parallel int
	// DialTimeout bounds the wait for an engine's first answer; 0 means 10 s.
	DialTimeout time.Duration
}

const (
	// Namespace is where berth's images and shards are; nobody else's containers are seen.
	Namespace = "berth"

	defaultParallel = 4
	// execStarts bounds how many execs are started at once: an engine that is asked for hundreds takes
	// minutes over each.
	execStarts         = 8
	defaultDialTimeout = 10 * time.Second
)

// Backend is one containerd. It implements backends.Backend.
type Backend struct {
	*client.Client
	engine engine
	info   backends.Info
	groups grouping
	// ids is the range that a shard's ids are mapped to, nil where the engine is rootless: then they are
	// the engine's own.
	ids         *idRange
	snapshotter string
	slots       places
	turns       *turns
	execs       places
	// editSpec changes a spec just before it's sent, in tests.
	editSpec func(*specs.Spec)
}

var _ backends.Backend = (*Backend)(nil)

// New connects to a containerd: Options.Address if it's set; else $CONTAINERD_ADDRESS if that is; else,
// for an ordinary user, the rootless one that rootlesskit runs with its state in
// $XDG_RUNTIME_DIR/containerd-rootless, whose socket is reached through its child's view of the file
// system; else /run/containerd/containerd.sock. The first two are meant: if they fail nothing else is
// tried.
//
// ErrUnavailable tells everything that was tried, ErrUnsupported what the engine lacks.
func New(ctx context.Context, o Options) (*Backend, error) {
	if o.Parallel <= 0 {
		o.Parallel = defaultParallel
	}
	if o.DialTimeout <= 0 {
		o.DialTimeout = defaultDialTimeout
	}
	e, c, err := hostFinder().find(ctx, o)
	if err != nil {
		return nil, err
	}
	b := &Backend{Client: c, engine: e, slots: make(places, o.Parallel), turns: new(turns), execs: make(places, execStarts)}
	if err := b.learn(ctx); err != nil {
		_ = b.Close()
		return nil, fmt.Errorf("containerd at %s: %w", e.address, err)
	}
	return b, nil
}

// Info gives what the engine said when it was connected to.
func (b *Backend) Info(context.Context) (backends.Info, error) { return b.info, nil }

// Close ends the connection. Shards live on.
func (b *Backend) Close() error { return b.Client.Close() }

// places bound how many do something at once.
type places chan struct{}

func (p places) take(ctx context.Context) (release func(), err error) {
	select {
	case p <- struct{}{}:
		return func() { <-p }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
