package backendtest

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/berth-run/berth/backends"
)

// soakCases count what is left of many execs (podman#7391, #16036): in the shard, and in this process.
// What an engine itself has left, only a backend's own test can know.
var soakCases = []testCase{
	{"exec: 20 one after the other leave nothing", "", func(t *testing.T, e *env) { e.soak(t, 20, 1) }},
	{"exec: 20 at once leave nothing", "", func(t *testing.T, e *env) { e.soak(t, 20, 20) }},
	{"exec: 200 at once leave nothing", "", func(t *testing.T, e *env) {
		if testing.Short() {
			t.Skip("200 processes in a container: run without -short")
		}
		e.soak(t, 200, 200)
	}},
}

// soak runs n execs, so many of them at a time, each with a status of its own.
func (e *env) soak(t *testing.T, n, parallel int) {
	s := e.started(t)
	e.output(t, s, nil, "exit", "0") // what is opened once, is open
	before := held(t)
	Execs(t, s, n, parallel)
	if info, err := e.Info(e.context(t)); err != nil || info.Capabilities.Isolation {
		e.noProcesses(t, s)
	}
	before.settle(t)
}

// Execs runs n execs of the suite's probe in s, so many at a time, and checks that each gives its own
// status.
func Execs(t *testing.T, s backends.Shard, n, parallel int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	places := make(chan struct{}, parallel)
	var wg sync.WaitGroup
	for i := range n {
		places <- struct{}{}
		wg.Go(func() {
			defer func() { <-places }()
			want := i % 100
			if got, err := s.Exec(ctx, probeProcess("exit", fmt.Sprint(want))); err != nil || got.Code != want {
				t.Errorf("exec %d: %v, %v", i, got, err)
			}
		})
	}
	wg.Wait()
}

// holding is what this process holds.
type holding struct{ goroutines, files int }

func held(t *testing.T) holding {
	t.Helper()
	h := holding{goroutines: runtime.NumGoroutine()}
	if entries, err := os.ReadDir("/proc/self/fd"); err == nil { // elsewhere, only goroutines are counted
		h.files = len(entries)
	}
	return h
}

// spare is for connections to the engine that are kept for the next request, each with a file and two
// goroutines. It's less than one for each exec.
const spare = 18

// settle waits until no more is held than before, but for the spare: what has ended may take a moment
// to be gone.
func (before holding) settle(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	for {
		now := held(t)
		if now.goroutines <= before.goroutines+2*spare && now.files <= before.files+spare {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%+v is held, and was %+v before", now, before)
		case <-time.After(10 * time.Millisecond):
		}
	}
}
