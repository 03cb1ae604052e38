package backendtest

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/berth-run/berth/backends"
)

var cancelCases = []testCase{
	{"cancel: before it began", "", func(t *testing.T, e *env) {
		s := e.started(t)
		cause := errors.New("cause")
		ctx, cancel := context.WithCancelCause(e.context(t))
		cancel(cause)
		_, err := s.Exec(ctx, probeProcess("exit", "0"))
		wantErr(t, "Exec", err, cause)
	}},
	{"cancel: ends the exec", "", func(t *testing.T, e *env) { e.cancelled(t, e.started(t), "block") }},
	{"cancel: kills the whole tree", "Isolation", func(t *testing.T, e *env) {
		s := e.started(t)
		e.cancelled(t, s, "tree")
		e.noProcesses(t, s)
	}},
	{"cancel: other execs go on", "", func(t *testing.T, e *env) {
		s := e.started(t)
		other := newReady()
		p := probeProcess("cat")
		pr, pw := io.Pipe()
		p.Stdin, p.Stdout = pr, other
		done := make(chan error, 1)
		go func() {
			st, err := s.Exec(e.context(t), p)
			if err == nil && st.Code != 0 {
				err = errors.New("it was killed too")
			}
			pr.CloseWithError(io.ErrClosedPipe) // so that no write waits for one that has ended
			done <- err
		}()
		mustWrite(t, pw)
		other.wait(t)
		e.cancelled(t, s, "block")
		mustWrite(t, pw)
		other.wait(t)
		pw.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}},
}

// cancelled runs a verb that never ends by itself, and cancels once it has said that it's ready.
func (e *env) cancelled(t *testing.T, s backends.Shard, args ...string) {
	t.Helper()
	cause := errors.New("cause")
	ctx, cancel := context.WithCancelCause(e.context(t))
	ready := newReady()
	p := probeProcess(args...)
	p.Stdout = ready
	done := make(chan error, 1)
	go func() {
		_, err := s.Exec(ctx, p)
		done <- err
	}()
	ready.wait(t)
	cancel(cause)
	wantErr(t, "Exec", <-done, cause)
}

func mustWrite(t *testing.T, w io.Writer) {
	t.Helper()
	if _, err := w.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
}
