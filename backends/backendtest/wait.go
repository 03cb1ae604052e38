package backendtest

import (
	"context"
	"errors"
	"testing"

	"github.com/berth-run/berth/backends"
)

var waitCases = []testCase{
	{"wait: from before the start", "", func(t *testing.T, e *env) {
		s := e.create(t, e.config(t, "exit", "7"))
		got := waiting(e.context(t), s)
		if err := s.Start(e.context(t)); err != nil {
			t.Fatal(err)
		}
		if r := <-got; r.err != nil || r.status != (backends.ExitStatus{Code: 7}) {
			t.Errorf("%+v", r)
		}
		for range 2 { // as often as it's called
			if st, err := s.Wait(e.context(t)); err != nil || st.Code != 7 {
				t.Errorf("again: %v, %v", st, err)
			}
		}
	}},
	{"wait: an exec's status isn't PID 1's", "", func(t *testing.T, e *env) {
		s := e.started(t)
		got := waiting(e.context(t), s)
		if st, err := s.Exec(e.context(t), probeProcess("exit", "9")); err != nil || st.Code != 9 {
			t.Fatalf("exec: %v, %v", st, err)
		}
		select {
		case r := <-got:
			t.Errorf("Wait returned %+v while PID 1 runs", r)
		default:
		}
	}},
	{"wait: out of memory", "MemoryLimit", func(t *testing.T, e *env) {
		c := e.config(t, "hog", "512")
		limit := int64(64 << 20)
		c.Spec.Linux.Resources.Memory.Limit, c.Spec.Linux.Resources.Memory.Swap = &limit, &limit
		s := e.create(t, c)
		if err := s.Start(e.context(t)); err != nil {
			t.Fatal(err)
		}
		if st, err := s.Wait(e.context(t)); err != nil || st != (backends.ExitStatus{Code: 137, OOMKilled: true}) {
			t.Errorf("%v, %v", st, err)
		}
	}},
	{"wait: cancelled", "", func(t *testing.T, e *env) {
		cause := errors.New("cause")
		for _, s := range []backends.Shard{e.create(t, e.config(t)), e.started(t)} {
			ctx, cancel := context.WithCancelCause(e.context(t))
			got := waiting(ctx, s)
			cancel(cause)
			wantErr(t, "Wait", (<-got).err, cause)
		}
	}},
	{"wait: removed meanwhile", "", func(t *testing.T, e *env) {
		for _, s := range []backends.Shard{e.create(t, e.config(t)), e.started(t)} {
			got := waiting(e.context(t), s)
			if err := s.Remove(e.context(t)); err != nil {
				t.Fatal(err)
			}
			// It may have seen the end before the removal.
			if r := <-got; r.err == nil && r.status.Code == 0 {
				t.Error("a shard that was removed ended with 0")
			} else if r.err != nil {
				wantErr(t, "Wait", r.err, backends.ErrNotFound)
			}
		}
	}},
}

type waited struct {
	status backends.ExitStatus
	err    error
}

func waiting(ctx context.Context, s backends.Shard) <-chan waited {
	c := make(chan waited, 1)
	go func() {
		st, err := s.Wait(ctx)
		c <- waited{st, err}
	}()
	return c
}
