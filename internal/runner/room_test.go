package runner

import (
	"context"
	"errors"
	"maps"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/backends/fake"
	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/shardtest"
)

const waitLine = "[berth] there is memory for 2 of 4 shards (5 GiB of memory are free at this moment, and each may take 2 GiB): "

type smallRig struct {
	*rig
	starting func() error // called by each start
}

// small is a machine with memory for two shards, and counts the most that it had at once.
func small(t *testing.T) (r *smallRig, most *atomic.Int64) {
	most = &atomic.Int64{}
	r = &smallRig{starting: func() error { return nil }}
	r.rig = newRig(t, shardtest.Options{Fake: fake.Options{
		Memory: func() (backends.Memory, error) { return backends.Memory{Total: 8 << 30, Free: 5 << 30}, nil },
		OnStart: func(string) error {
			there, err := r.engine.List(context.Background(), nil)
			if err != nil {
				return err
			}
			for n := int64(len(there)); ; {
				if was := most.Load(); n <= was || most.CompareAndSwap(was, n) {
					return r.starting()
				}
			}
		},
	}}, []string{"a"}, []string{"b"}, []string{"c"}, []string{"d"})
	return r, most
}

// waiting blocks until shards were said to wait, which they do as long as those that are in call this.
func (r *smallRig) waiting(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, errors.New("no shard was said to wait"))
	defer cancel()
	for !strings.Contains(r.log.String(), waitLine) {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Millisecond):
		}
	}
	return nil
}

func TestShardsWaitForMemory(t *testing.T) {
	r, most := small(t)
	provide := r.Inference.Provide
	r.Inference.Provide = func(ctx context.Context, i int, write func(context.Context, []byte) error, warn func(error)) error {
		if err := r.waiting(ctx); err != nil {
			return err
		}
		return provide(ctx, i, write, warn)
	}
	out := r.Do(t.Context())
	for i, s := range out.Shards {
		if s.Err != nil || s.Finished != 1 {
			t.Errorf("shard %d: %+v", i, s)
		}
	}
	if got, want := r.saved.kinds(), map[string]string{"a": "", "b": "", "c": "", "d": ""}; !maps.Equal(got, want) {
		t.Errorf("recorded %v, want %v", got, want)
	}
	if most.Load() != 2 || strings.Count(r.log.String(), waitLine) != 1 {
		t.Errorf("%d shards were there at once, want 2, and that said once:\n%s", most.Load(), r.log)
	}
	r.left(t)
}

// TestShardsThatFailMakeRoom: also those that never ran.
func TestShardsThatFailMakeRoom(t *testing.T) {
	r, _ := small(t)
	var started atomic.Int64
	r.starting = func() error {
		if started.Add(1) > 2 {
			return nil
		}
		return errors.Join(r.waiting(t.Context()), errors.New("broken"))
	}
	failed := 0
	for _, s := range r.Do(t.Context()).Shards {
		if code.Of(s.Err) == code.ShardNotCreated {
			failed++
		}
	}
	if failed != 2 || len(r.saved.kinds()) != 2 {
		t.Errorf("%d shards failed and %v came back, want two of each", failed, r.saved.kinds())
	}
	r.left(t)
}

func TestDrainOfShardsThatWait(t *testing.T) {
	r, _ := small(t)
	drain := make(chan struct{})
	r.Drain = drain
	interrupt := sync.OnceFunc(func() { close(drain) })
	r.Inference.Provide = func(ctx context.Context, _ int, _ func(context.Context, []byte) error, _ func(error)) error {
		if err := r.waiting(ctx); err != nil {
			return err
		}
		interrupt()
		<-ctx.Done()
		return context.Cause(ctx)
	}
	for i, s := range r.Do(t.Context()).Shards {
		if code.Of(s.Err) != code.Cancelled || len(s.Missing) != 1 {
			t.Errorf("shard %d: %+v", i, s)
		}
	}
	r.left(t)
}

// TestRemoteMachineIsAskedFromInside: an engine that only tells what nobody uses holds no shard back that a
// shard's own look at the machine has room for.
func TestRemoteMachineIsAskedFromInside(t *testing.T) {
	if _, err := os.ReadFile("/proc/meminfo"); err != nil {
		t.Skip("needs Linux's /proc: the shards of this test are on this machine")
	}
	r := newRig(t, shardtest.Options{Fake: fake.Options{
		Memory: func() (backends.Memory, error) { return backends.Memory{Total: 1 << 50, Free: 0, Least: true}, nil },
	}}, []string{"a"}, []string{"b"})
	r.Spec.MemoryBytes = 128 << 20
	var there atomic.Int64
	both := make(chan struct{})
	provide := r.Inference.Provide
	r.Inference.Provide = func(ctx context.Context, i int, write func(context.Context, []byte) error, warn func(error)) error {
		if there.Add(1) == 2 {
			close(both)
		}
		select {
		case <-both:
		case <-time.After(time.Minute):
			return errors.New("the second shard wasn't let in")
		}
		return provide(ctx, i, write, warn)
	}
	for i, s := range r.Do(t.Context()).Shards {
		if s.Err != nil {
			t.Errorf("shard %d: %v", i, s.Err)
		}
	}
	r.left(t)
}
