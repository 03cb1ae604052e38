// Package shardtest is a container engine for tests of what runs shards: backends/fake, whose shards
// have the real worker in them, in this process and a temporary folder each, and over that a client
// whose trials do what a test says. So the whole path of a run is real but for the container and
// the app. It isolates nothing; what a container holds back is tested with a real engine.
package shardtest

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"

	"github.com/berth-run/berth/backends/fake"
	"github.com/berth-run/berth/internal/selfcheck"
	"github.com/berth-run/berth/internal/shardproto"
	"github.com/berth-run/berth/internal/worker"
	"github.com/berth-run/berth/oci"
	"github.com/berth-run/berth/session/client"
)

// Image is one that every Engine has.
const Image = "localhost/shardtest"

// Options of an Engine; the zero value is one where everything works.
type Options struct {
	Fake fake.Options
	// SelfCheck answers in the place of the kernel; default: everything is in force.
	SelfCheck func(selfcheck.Expect) selfcheck.Report
	// Worker changes the workers' options.
	Worker func(*worker.Options)
}

// Engine is the backend with its workers.
type Engine struct {
	*fake.Backend
	// App is the client of every shard.
	App *App

	t       testing.TB
	options Options
	dir     string

	workers sync.WaitGroup // until the last of them has ended

	mu     sync.Mutex
	shards map[string]*inside
}

// inside is one shard's.
type inside struct {
	ready  chan struct{} // closed once worker is set
	worker *worker.Worker
	cut    map[*context.CancelFunc]bool // the channels' execs
}

// New makes an Engine with Image in it.
func New(t testing.TB, o Options) *Engine {
	t.Helper()
	e := &Engine{
		Backend: fake.New(o.Fake), App: &App{}, t: t, options: o, dir: t.TempDir(), shards: map[string]*inside{},
	}
	t.Cleanup(e.workers.Wait)
	e.AddImage(Image, nil)
	e.Register(oci.WorkerPath, func(ctx context.Context, p fake.ProcessIO) int {
		if p.Args[1] == "init" {
			return e.pid1(ctx, p)
		}
		return e.channel(ctx, p)
	})
	return e
}

func (e *Engine) shard(id string) *inside {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.shards[id]
	if s == nil {
		s = &inside{ready: make(chan struct{}), cut: map[*context.CancelFunc]bool{}}
		e.shards[id] = s
	}
	return s
}

// pid1 is `berth-worker init`.
func (e *Engine) pid1(ctx context.Context, p fake.ProcessIO) int {
	w, err := worker.New(e.workerOptions(p.ShardID))
	if err != nil {
		e.t.Errorf("shard %s: %v", p.ShardID, err)
		return 1
	}
	s := e.shard(p.ShardID)
	s.worker = w
	close(s.ready)
	ended := make(chan error, 1)
	e.workers.Go(func() { ended <- w.Wait() })
	select {
	case err := <-ended:
		switch {
		case errors.Is(err, worker.ErrSilent):
			return shardproto.ExitSilent
		case err != nil:
			return 1
		}
		return 0
	case <-ctx.Done(): // killed, which asks nobody inside
		e.workers.Go(func() { w.Close() })
		return 1
	}
}

func (e *Engine) workerOptions(id string) worker.Options {
	dir := filepath.Join(e.dir, id)
	e.tellKills(id, 0)
	o := worker.Options{
		RunDir: filepath.Join(dir, "run"), Home: dir, Tmp: dir, Cgroup: e.cgroup(id), TunnelAddr: "127.0.0.1:0", Image: Image,
		Clients: func(string) (client.Client, error) { return e.App, nil },
		SelfCheck: func(_ context.Context, x selfcheck.Expect) selfcheck.Report {
			if e.options.SelfCheck == nil {
				return selfcheck.Report{}
			}
			return e.options.SelfCheck(x)
		},
	}
	if e.options.Worker != nil {
		e.options.Worker(&o)
	}
	return o
}

// channel is `berth-worker channel`.
func (e *Engine) channel(ctx context.Context, p fake.ProcessIO) int {
	s := e.shard(p.ShardID)
	select {
	case <-s.ready:
	case <-ctx.Done():
		return 1
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	e.mu.Lock()
	s.cut[&cancel] = true
	e.mu.Unlock()
	defer func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(s.cut, &cancel)
	}()
	if s.worker.Channel(ctx, p.Stdin, p.Stdout) != nil {
		return 1
	}
	return 0
}

// Cut kills the execs of a shard's channel, and tells how many there were, without those that were killed
// before and are still ending. The shard lives on.
func (e *Engine) Cut(id string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.shards[id]
	n := len(s.cut)
	for cancel := range s.cut {
		(*cancel)()
	}
	clear(s.cut)
	return n
}

// RunDir is where a shard's worker keeps tokens, bundle and results.
func (e *Engine) RunDir(id string) string { return filepath.Join(e.dir, id, "run") }

// IDs are those of the shards that have been started.
func (e *Engine) IDs() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var ids []string
	for id := range e.shards {
		ids = append(ids, id)
	}
	return ids
}
