package capacity

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// machine has memory that tests take and give.
type machine struct{ free atomic.Int64 }

func (m *machine) gate(each int64) *Gate {
	return &Gate{Each: each, Free: func(context.Context) (int64, error) { return m.free.Load(), nil }}
}

const mib = 1 << 20

// enter lets shards in one after the other until one has to wait, and gives what they leave by.
func enter(t *testing.T, g *Gate, most int) (in []func(bool)) {
	t.Helper()
	for range most {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		leave, err := g.Enter(ctx)
		cancel()
		if err != nil {
			return in
		}
		in = append(in, leave)
	}
	return in
}

func TestGateLetsInWhatThereIsMemoryFor(t *testing.T) {
	tests := []struct {
		free, each int64
		want       int
	}{
		{spare + 400*mib, 100 * mib, 4},
		{spare + 399*mib, 100 * mib, 3},
		{spare + 100*mib, 100 * mib, 1},
		{50 * mib, 100 * mib, 1}, // at least one runs
		{0, 100 * mib, 1},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			m := &machine{}
			m.free.Store(tt.free)
			if got := len(enter(t, m.gate(tt.each), 10)); got != tt.want {
				t.Errorf("%s free, %s each: %d shards are in, want %d", Size(tt.free), Size(tt.each), got, tt.want)
			}
		})
	}
}

// TestGateCountsWhatShardsMayStillTake: whatever of its memory a shard takes after it was let in, no
// more get in, and no fewer.
func TestGateCountsWhatShardsMayStillTake(t *testing.T) {
	for _, takes := range []int64{0, 30 * mib, 100 * mib} {
		synctest.Test(t, func(t *testing.T) {
			m := &machine{}
			m.free.Store(spare + 450*mib)
			g := m.gate(100 * mib)
			n := 0
			for len(enter(t, g, 1)) == 1 {
				m.free.Add(-takes)
				n++
			}
			if n != 4 {
				t.Errorf("%d shards that take %s each are in, want 4", n, Size(takes))
			}
		})
	}
}

func TestGateSeesOthersTakeMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &machine{}
		m.free.Store(spare + 1000*mib)
		g := m.gate(100 * mib)
		enter(t, g, 1)
		m.free.Store(spare + 90*mib)
		if n := len(enter(t, g, 1)); n != 0 {
			t.Error("one was let in whose memory isn't free now")
		}
		m.free.Store(spare + 200*mib)
		if n := len(enter(t, g, 3)); n != 1 {
			t.Errorf("%d more are in, want 1", n)
		}
	})
}

func TestGateSeesOthersGiveMemoryBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &machine{}
		m.free.Store(spare)
		g := m.gate(100 * mib)
		enter(t, g, 1)
		in := make(chan error, 1)
		go func() {
			_, err := g.Enter(t.Context())
			in <- err
		}()
		synctest.Wait()
		select {
		case <-in:
			t.Fatal("let in without memory")
		default:
		}
		m.free.Store(spare + 250*mib)
		if err := <-in; err != nil { // at the next look
			t.Fatal(err)
		}
	})
}

func TestGateLetsTheNextInWhenOneLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &machine{}
		m.free.Store(spare + 200*mib)
		g := m.gate(100 * mib)
		g.Look = 24 * time.Hour
		in := enter(t, g, 5)
		if len(in) != 2 {
			t.Fatalf("%d are in, want 2", len(in))
		}
		var order []int
		done := make(chan struct{})
		for i := range 3 {
			go func() {
				leave, err := g.Enter(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				order = append(order, i)
				leave(false)
				if i == 2 {
					close(done)
				}
			}()
			synctest.Wait() // it is in line
		}
		start := time.Now()
		in[0](false)
		in[0](false) // once is enough
		<-done
		if time.Since(start) > time.Minute || fmt.Sprint(order) != "[0 1 2]" {
			t.Errorf("in by order %v after %v", order, time.Since(start))
		}
	})
}

// TestGateWithKeptShards: they hold their memory, and nobody waits for them forever.
func TestGateWithKeptShards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &machine{}
		m.free.Store(spare + 200*mib)
		g := m.gate(100 * mib)
		in := enter(t, g, 5)
		in[0](true)
		if n := len(enter(t, g, 5)); n != 0 {
			t.Error("one got the memory of a shard that was kept")
		}
		in[1](true)
		if n := len(enter(t, g, 5)); n != 1 {
			t.Errorf("%d run beside the kept ones, want 1", n)
		}
	})
}

func TestGateSaysOnceThatShardsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &machine{}
		m.free.Store(spare + 250*mib)
		g := m.gate(100 * mib)
		var said []string
		g.Waits = func(room int, why string) { said = append(said, fmt.Sprint(room, " ", why)) }
		for range 3 {
			enter(t, g, 5)
		}
		want := "2 506 MiB of memory are free at this moment, and each may take 100 MiB"
		if strings.Join(said, "\n") != want {
			t.Errorf("said %q, want once %q", said, want)
		}
	})
}

func TestGateEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := (&machine{}).gate(mib)
		enter(t, g, 1)
		ended := errors.New("ended")
		ctx, cancel := context.WithCancelCause(t.Context())
		errs := make(chan error, 2)
		for range 2 { // one waits for memory, the other for its turn
			go func() {
				_, err := g.Enter(ctx)
				errs <- err
			}()
		}
		synctest.Wait()
		cancel(ended)
		for range 2 {
			if err := <-errs; !errors.Is(err, ended) {
				t.Errorf("got %v, want the cause", err)
			}
		}
	})
}

func TestGateThatCannotTellHoldsNobodyBack(t *testing.T) {
	g := &Gate{Each: mib, Free: func(context.Context) (int64, error) { return 0, errors.New("no facts") }}
	for range 3 {
		if _, err := g.Enter(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
