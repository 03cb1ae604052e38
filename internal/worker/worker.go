// Package worker is what runs inside a shard: PID 1 (Init), and its one child (Serve), which owns
// the control socket, the tokens, the bundle and the results, and runs the bundle's trials one after
// another through a client of package session/client. It knows the coordinator only as the other end
// of a channel, and no container engine at all. A Worker also runs inside a test's process, with a
// temporary folder in the place of the shard's.
package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/berth-run/berth/internal/channel"
	"github.com/berth-run/berth/internal/redact"
	"github.com/berth-run/berth/internal/selfcheck"
	"github.com/berth-run/berth/internal/shardproto"
	"github.com/berth-run/berth/oci"
	"github.com/berth-run/berth/session/client"
)

// Options are what a Worker needs; a zero field has the default that's named.
type Options struct {
	// RunDir holds tokens, bundle and results, each 0700; default oci.RunDir.
	RunDir string
	// Home and Tmp are the desktop user's folders; default oci.Home and /tmp.
	Home string
	Tmp  string
	// Clients gives the client that a bundle names.
	Clients func(name string) (client.Client, error)
	// Desktop is closed with the Worker; nil for a worker whose clients need none.
	Desktop *Desktop
	// SelfCheck is selfcheck.Run, or a test's.
	SelfCheck func(context.Context, selfcheck.Expect) selfcheck.Report
	// Redact gets every token; the clients share it. Default: one of the Worker's own.
	Redact *redact.Set
	// Cgroup is where the shard's own cgroup is mounted; default /sys/fs/cgroup.
	Cgroup string
	// TunnelAddr is where apps find the gateway; default channel.TunnelAddr.
	TunnelAddr string
	// Image is told in the hello message, for the run's record.
	Image string
	// Deadman is how long no coordinator may be heard before the shard ends itself; default 10 min.
	Deadman time.Duration
	// Heartbeat and TokenRenew are the protocol's 15 s and 120 s.
	Heartbeat  time.Duration
	TokenRenew time.Duration
	// Timing is the channel's.
	Timing channel.Timing
}

func (o Options) orDefault() Options {
	def := func(s *string, d string) {
		if *s == "" {
			*s = d
		}
	}
	def(&o.RunDir, oci.RunDir)
	def(&o.Home, oci.Home)
	def(&o.Tmp, "/tmp")
	def(&o.Cgroup, cgroupRoot)
	if o.SelfCheck == nil {
		o.SelfCheck = selfcheck.Run
	}
	if o.Redact == nil {
		o.Redact = &redact.Set{}
	}
	for d, v := range map[*time.Duration]time.Duration{&o.Deadman: 10 * time.Minute, &o.Heartbeat: 15 * time.Second, &o.TokenRenew: 2 * time.Minute} {
		if *d <= 0 {
			*d = v
		}
	}
	return o
}

// Worker serves one shard, from its start to its end.
type Worker struct {
	opts    Options
	folders folders
	server  *channel.Server

	ctx  context.Context // ends with the Worker
	end  context.CancelCauseFunc
	kept chan struct{}
	once sync.Once

	mu  sync.Mutex
	run *collection // the bundle that was started
}

// New makes the folders and arms the dead man's switch.
func New(o Options) (*Worker, error) {
	o = o.orDefault()
	f, err := makeFolders(o.RunDir)
	if err != nil {
		return nil, fmt.Errorf("make the worker's folders: %w", err)
	}
	w := &Worker{opts: o, folders: f, kept: make(chan struct{})}
	w.ctx, w.end = context.WithCancelCause(context.Background())
	w.server = channel.NewServer(channel.ServerOptions{
		Folders: map[string]string{
			oci.RunDir + "/bundle": f.bundle, oci.RunDir + "/results": f.results, oci.Home: o.Home, "/tmp": o.Tmp,
		},
		Home: o.Home, TokensDir: f.tokens, TunnelAddr: o.TunnelAddr,
		SelfCheck: o.SelfCheck, Collect: w.collect, Keep: w.keep, Shutdown: func() { w.end(errShutdown) },
		Timing: o.Timing,
	})
	go w.deadman()
	go w.route()
	return w, nil
}

// ServeConn serves one link whose other end is trusted.
func (w *Worker) ServeConn(conn io.ReadWriteCloser) error { return w.server.ServeConn(conn) }

// Channel does what an exec of `berth-worker channel` does, for a Worker in the same process. Like
// that it ends with stdin, with the Worker, or with ctx.
func (w *Worker) Channel(ctx context.Context, stdin io.Reader, stdout io.Writer) error {
	near, far := net.Pipe()
	defer context.AfterFunc(ctx, func() { near.Close() })()
	go func() { _ = w.server.ServeConn(far) }() // the bridge sees its end
	return channel.Bridge(near, stdin, stdout)
}

// Wait returns when the Worker has ended: nil after a shutdown that was asked for, ErrSilent by the
// dead man's switch.
func (w *Worker) Wait() error {
	<-w.ctx.Done()
	w.mu.Lock()
	run := w.run
	w.mu.Unlock()
	if run != nil {
		run.settle()
	}
	w.server.Close()
	err := errors.Join(w.opts.Desktop.Close(), w.folders.removeTokens())
	if cause := context.Cause(w.ctx); !errors.Is(cause, errShutdown) {
		err = errors.Join(cause, err)
	}
	return err
}

// Close ends the Worker as a shutdown does, and waits.
func (w *Worker) Close() error {
	w.end(errShutdown)
	return w.Wait()
}

// keep is the coordinator's word that the shard is to outlive it.
func (w *Worker) keep() { w.once.Do(func() { close(w.kept) }) }

// deadman ends a shard that no coordinator has spoken to for too long, unless it's to be kept.
func (w *Worker) deadman() {
	for {
		left := w.opts.Deadman - w.server.Silence()
		if left <= 0 {
			w.end(fmt.Errorf("%w for %s", ErrSilent, w.opts.Deadman))
			return
		}
		select {
		case <-time.After(left):
		case <-w.kept:
			return
		case <-w.ctx.Done():
			return
		}
	}
}

// route hands the coordinator's messages to the collection. There is none before Collect, and
// nothing that a coordinator may say then.
func (w *Worker) route() {
	for m := range w.server.Messages() {
		w.mu.Lock()
		run := w.run
		w.mu.Unlock()
		if run != nil {
			run.take(m)
		}
	}
}

// collect starts the bundle in the bundle folder; once, however often it's asked for.
func (w *Worker) collect() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	b, id, err := w.folders.readBundle()
	if err != nil {
		return err
	}
	if w.run != nil {
		if w.run.id == id {
			return nil
		}
		return fmt.Errorf("%w: another bundle was started in this shard", channel.ErrInvalid)
	}
	w.run = newCollection(w, b, id)
	go w.run.run()
	return nil
}

// say queues a message for the coordinator.
func (w *Worker) say(m shardproto.Message) {
	// It fails only when the Worker ends, and then nobody listens.
	_ = w.server.Send(w.ctx, m)
}
