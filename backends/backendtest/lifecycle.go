package backendtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/berth-run/berth/backends"
)

var lifecycleCases = []testCase{
	{"create: invalid", "", func(t *testing.T, e *env) {
		for name, edit := range map[string]func(*backends.Config){
			"name":    func(c *backends.Config) { c.Name = "../x" },
			"network": func(c *backends.Config) { c.Network = "host" },
			"spec":    func(c *backends.Config) { c.Spec = nil },
			"label":   func(c *backends.Config) { c.Labels = map[string]string{"a=b": ""} },
		} {
			c := e.config(t)
			edit(&c)
			_, err := e.Create(e.context(t), c)
			wantErr(t, name, err, backends.ErrInvalid)
		}
	}},
	{"create: name taken", "", func(t *testing.T, e *env) {
		c := e.config(t)
		first := e.create(t, c)
		_, err := e.Create(e.context(t), c)
		wantErr(t, "Create", err, backends.ErrExists)
		if err := first.Remove(e.context(t)); err != nil {
			t.Fatal(err)
		}
		e.create(t, c)
	}},
	{"create: cancelled", "", func(t *testing.T, e *env) {
		cause := errors.New("cause")
		ctx, cancel := context.WithCancelCause(e.context(t))
		cancel(cause)
		c := e.config(t)
		_, err := e.Create(ctx, c)
		wantErr(t, "Create", err, cause)
		e.create(t, c) // so the name is free
	}},
	{"memory of the machine", "", func(t *testing.T, e *env) {
		if m, err := e.Memory(e.context(t)); err != nil || m.Free <= 0 || m.Free > m.Total {
			t.Errorf("got %+v, %v", m, err)
		}
	}},
	{"create: 20 at once", "", testParallel},
	{"state: exec before start", "", func(t *testing.T, e *env) {
		s := e.create(t, e.config(t))
		_, err := s.Exec(e.context(t), probeProcess("exit", "0"))
		wantErr(t, "Exec", err, backends.ErrState)
	}},
	{"state: started twice", "", func(t *testing.T, e *env) {
		s := e.started(t)
		wantErr(t, "Start", s.Start(e.context(t)), backends.ErrState)
	}},
	{"state: ended", "", func(t *testing.T, e *env) {
		s := e.started(t, "exit", "3")
		if got, err := s.Wait(e.context(t)); err != nil || got.Code != 3 {
			t.Fatalf("Wait: %v, %v", got, err)
		}
		wantErr(t, "Start", s.Start(e.context(t)), backends.ErrState)
		_, err := s.Exec(e.context(t), probeProcess("exit", "0"))
		wantErr(t, "Exec", err, backends.ErrState)
	}},
	{"state: start failed", "", testStartFailed},
	{"remove: created", "", func(t *testing.T, e *env) { e.removeTwice(t, e.create(t, e.config(t))) }},
	{"remove: running", "", func(t *testing.T, e *env) { e.removeTwice(t, e.started(t)) }},
	{"remove: running, deaf to signals", "", func(t *testing.T, e *env) { e.removeTwice(t, e.started(t, "block")) }},
	{"remove: ended", "", func(t *testing.T, e *env) {
		s := e.started(t, "exit", "0")
		if _, err := s.Wait(e.context(t)); err != nil {
			t.Fatal(err)
		}
		e.removeTwice(t, s)
	}},
	{"remove: with an exec running", "", func(t *testing.T, e *env) {
		s := e.started(t)
		ready := newReady()
		done := make(chan error, 1)
		go func() {
			p := probeProcess("block")
			p.Stdout = ready
			_, err := s.Exec(e.context(t), p)
			done <- err
		}()
		ready.wait(t)
		e.removeTwice(t, s)
		<-done // ends, however
	}},
	{"remove: while it starts", "", func(t *testing.T, e *env) {
		s := e.create(t, e.config(t))
		started := make(chan error, 1)
		go func() { started <- s.Start(e.context(t)) }()
		err := s.Remove(e.context(t))
		<-started // with an error or without: it was before the removal, or after, or cut short by it
		if err != nil {
			t.Error(err)
		}
		e.removeTwice(t, s)
	}},
	{"open", "", testOpen},
}

// removeTwice removes s and checks that nothing of it is there.
func (e *env) removeTwice(t *testing.T, s backends.Shard) {
	t.Helper()
	ctx := e.context(t)
	for range 2 {
		if err := s.Remove(ctx); err != nil {
			t.Fatal(err)
		}
	}
	wantErr(t, "Start", s.Start(ctx), backends.ErrNotFound)
	_, err := s.Exec(ctx, probeProcess("exit", "0"))
	wantErr(t, "Exec", err, backends.ErrNotFound)
	_, err = s.Wait(ctx)
	wantErr(t, "Wait", err, backends.ErrNotFound)
	_, err = e.Open(ctx, s.ID())
	wantErr(t, "Open", err, backends.ErrNotFound)
}

func testParallel(t *testing.T, e *env) {
	const n = 20
	var wg sync.WaitGroup
	ids := make([]string, n)
	errs := make([]error, n)
	for i := range n {
		c := e.config(t)
		wg.Go(func() {
			ctx := e.context(t)
			s, err := e.Create(ctx, c)
			if err != nil {
				errs[i] = err
				return
			}
			ids[i] = s.ID()
			out := new(strings.Builder)
			p := probeProcess("args", fmt.Sprint(i))
			p.Stdout = out
			errs[i] = s.Start(ctx)
			if errs[i] == nil {
				_, errs[i] = s.Exec(ctx, p)
			}
			if want := fmt.Sprintf("[%q]\n", fmt.Sprint(i)); errs[i] == nil && out.String() != want {
				errs[i] = fmt.Errorf("exec said %q, want %q", out, want)
			}
			errs[i] = errors.Join(errs[i], s.Remove(ctx))
		})
	}
	wg.Wait()
	seen := map[string]bool{}
	for i, err := range errs {
		if err != nil {
			t.Errorf("shard %d: %v", i, err)
		}
		if ids[i] == "" || seen[ids[i]] {
			t.Errorf("shard %d has id %q", i, ids[i])
		}
		seen[ids[i]] = true
	}
}

// testStartFailed: a PID 1 that isn't there is an error of Start and never a status of 0
// (podman#25479).
func testStartFailed(t *testing.T, e *env) {
	c := e.config(t)
	c.Spec.Process.Args = []string{"/no/such/program"}
	s := e.create(t, c)
	if err := s.Start(e.context(t)); err == nil {
		t.Fatal("Start of a program that isn't there gave no error")
	}
	cause := errors.New("cause")
	ctx, cancel := context.WithCancelCause(e.context(t))
	got := make(chan error, 1)
	go func() {
		st, err := s.Wait(ctx)
		if err == nil && st.Code == 0 {
			err = errors.New("Wait gave status 0")
		} else {
			err = nil
		}
		got <- err
	}()
	_, err := s.Exec(ctx, probeProcess("exit", "0"))
	wantErr(t, "Exec", err, backends.ErrState)
	cancel(cause)
	if err := <-got; err != nil {
		t.Error(err)
	}
	if err := s.Remove(e.context(t)); err != nil {
		t.Fatal(err)
	}
}

func testOpen(t *testing.T, e *env) {
	ctx := e.context(t)
	c := e.config(t)
	s := e.create(t, c)
	again, err := e.Open(ctx, s.ID())
	if err != nil {
		t.Fatal(err)
	}
	if again.ID() != s.ID() {
		t.Errorf("id %s, want %s", again.ID(), s.ID())
	}
	if err := again.Start(ctx); err != nil {
		t.Fatal(err)
	}
	wantErr(t, "Start", s.Start(ctx), backends.ErrState)
	for _, id := range []string{"no-such-shard", c.Name, s.ID()[:8]} {
		_, err := e.Open(ctx, id)
		wantErr(t, "Open "+id, err, backends.ErrNotFound)
	}
}
