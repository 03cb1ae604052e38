// Package turn follows one prompt's turn in Codex's record of it, judges what came of it, and says so
// in the shapes of a result, for every client whose engine Codex is. It hands no prompt over, and knows
// of the app only whether it is still there.
package turn

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/session/client/private"
	"github.com/berth-run/berth/session/client/rollout"
)

// Limits are the waiting times of contract §4.5.
type Limits struct {
	// Bind is how long a prompt may take to show in a record.
	Bind time.Duration
	// Stall is how long a record may stay as it is.
	Stall time.Duration
	// Poll is how often the record is looked at when nothing is heard.
	Poll time.Duration
}

// OrDefault puts the contract's limits in the place of zero ones.
func (l Limits) OrDefault() Limits {
	if l.Bind == 0 {
		l.Bind = 120 * time.Second
	}
	if l.Stall == 0 {
		l.Stall = 120 * time.Second
	}
	if l.Poll == 0 {
		l.Poll = 750 * time.Millisecond
	}
	return l
}

// settle is how long the record is looked at closely after something was said: Codex speaks a little
// before it writes.
const (
	settle     = time.Second
	settlePoll = 5 * time.Millisecond
)

// Watch follows a prompt's record until its turn is done.
type Watch struct {
	Limits Limits
	Handed time.Time // when the prompt was handed over
	Binder *rollout.Binder
	// App ends when no more will be written; its cause is then the trial's error.
	App context.Context
	// Wake, where the app says something, tells that there may be something to read.
	Wake <-chan struct{}
	// Over, where the app says so, is closed with the turn: what isn't in the record soon never will be.
	Over <-chan struct{}

	bound  *rollout.Bound
	size   int64
	grown  time.Time // when the record last grew
	spoken time.Time // when the app last said something
	over   time.Time // when it said that the turn was over
}

// Bound is the turn, as far as it was found and read; nil for none.
func (w *Watch) Bound() *rollout.Bound { return w.bound }

// Follow returns nil when the turn is done, well or not. Without that, the error says why it was given
// up.
func (w *Watch) Follow(ctx context.Context) error {
	w.grown = w.Handed
	for {
		// An app that has ended writes no more: what is read after that is all there is.
		ended := w.App.Err() != nil
		if done, err := w.look(); done || err != nil {
			return err
		}
		if ended {
			return context.Cause(w.App)
		}
		if err := w.overdue(ctx, time.Now()); err != nil {
			return err
		}
		w.wait(ctx)
	}
}

func (w *Watch) look() (done bool, err error) {
	if w.bound == nil {
		w.bound, err = w.Binder.Poll()
	} else {
		_, err = w.bound.Rollout.Poll()
	}
	switch {
	case errors.Is(err, rollout.ErrAmbiguous):
		return false, code.Errorf(code.AmbiguousMatchingSession, "%w", err)
	case errors.Is(err, rollout.ErrMeta):
		return false, code.Errorf(code.ClientSessionMetadata, "%w", err)
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
func (w *Watch) overdue(ctx context.Context, now time.Time) error {
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("waiting for the answer: %w", context.Cause(ctx))
	case w.bound == nil && now.Sub(w.Handed) >= w.Limits.Bind:
		return code.Errorf(code.NoMatchingSession, "no record of the prompt after %v", w.Limits.Bind)
	case w.bound != nil && w.givenUp(now) && private.Full(w.folder()):
		return code.Errorf(code.ShardFull, "%s has no room left, so the app's record of the turn isn't whole", w.folder())
	case w.bound != nil && now.Sub(w.grown) >= w.Limits.Stall:
		return code.Errorf(code.Timeout, "the record has not grown for %v", w.Limits.Stall)
	}
	return nil
}

// givenUp tells that a record is as long as it will be, if there is no room for more. Before that an app may
// make room, and write what it has kept.
func (w *Watch) givenUp(now time.Time) bool {
	return !w.over.IsZero() && now.Sub(w.over) >= settle || now.Sub(w.grown) >= w.Limits.Stall
}

func (w *Watch) folder() string { return filepath.Dir(w.bound.Rollout.Path()) }

// wait sleeps until it may be worth another look.
func (w *Watch) wait(ctx context.Context) {
	interval := w.Limits.Poll
	if time.Since(w.spoken) < settle {
		interval = min(interval, settlePoll)
	}
	timer := time.NewTimer(interval)
	defer timer.Stop()
	select {
	case <-w.Wake:
		w.spoken = time.Now()
	case <-w.Over:
		w.over, w.Over = time.Now(), nil
		w.spoken = w.over
	case <-w.App.Done():
	case <-ctx.Done():
	case <-timer.C:
	}
}
