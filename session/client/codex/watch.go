package codex

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/session/client/rollout"
)

// settle is how long the record is looked at closely after something was said: Codex speaks a little
// before it writes.
const (
	settle     = time.Second
	settlePoll = 5 * time.Millisecond
)

// watch follows a prompt's record until its turn is done.
type watch struct {
	app    *app
	limits Limits
	handed time.Time // when the prompt was handed over
	binder *rollout.Binder

	bound  *rollout.Bound
	size   int64
	grown  time.Time // when the record last grew
	spoken time.Time // when the app server last said something
}

// follow returns nil when the turn is done, well or not. Without that, the error says why it was given
// up.
func (w *watch) follow(ctx context.Context) error {
	w.grown = w.handed
	for {
		// An app that has ended writes no more: what is read after that is all there is.
		exited := w.app.proc.Exit() != ""
		if done, err := w.look(); done || err != nil {
			return err
		}
		if exited {
			return code.Errorf(code.ClientRunFailed, "codex app-server ended in the middle of the turn (%s)", w.app.proc.Exit())
		}
		if err := w.overdue(ctx, time.Now()); err != nil {
			return err
		}
		w.wait(ctx)
	}
}

func (w *watch) look() (done bool, err error) {
	if w.bound == nil {
		w.bound, err = w.binder.Poll()
	} else {
		_, err = w.bound.Rollout.Poll()
	}
	switch {
	case errors.Is(err, rollout.ErrAmbiguous):
		return false, code.Errorf(code.AmbiguousMatchingSession, "%w", err)
	case err != nil:
		return false, code.Errorf(code.ParseFailure, "%w", err)
	case w.bound == nil:
		return false, nil
	}
	if n := w.bound.Rollout.Size(); n != w.size {
		w.size, w.grown = n, time.Now()
	}
	return w.bound.Turn.Done(), nil
}

// overdue tells whether there's nothing to wait for any more.
func (w *watch) overdue(ctx context.Context, now time.Time) error {
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("waiting for the answer: %w", context.Cause(ctx))
	case w.bound == nil && now.Sub(w.handed) >= w.limits.Bind:
		return code.Errorf(code.NoMatchingSession, "no record of the prompt after %v", w.limits.Bind)
	case w.bound != nil && now.Sub(w.grown) >= w.limits.Stall:
		return code.Errorf(code.Timeout, "the record has not grown for %v", w.limits.Stall)
	}
	return nil
}

// wait sleeps until it may be worth another look.
func (w *watch) wait(ctx context.Context) {
	interval := w.limits.Poll
	if time.Since(w.spoken) < settle {
		interval = min(interval, settlePoll)
	}
	timer := time.NewTimer(interval)
	defer timer.Stop()
	select {
	case <-w.app.wake:
		w.spoken = time.Now()
	case <-w.app.proc.Done():
	case <-ctx.Done():
	case <-timer.C:
	}
}
