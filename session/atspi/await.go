package atspi

import (
	"context"
	"errors"
	"slices"
	"time"
)

// What one waits for is looked at when events come, and every pollInterval, since apps leave some out.
// An app that changes all the time is left lookGap, or as long as a look takes, between two of them.
const (
	pollInterval = 250 * time.Millisecond
	lookGap      = 10 * time.Millisecond
)

// Await takes snapshots until see is satisfied, and returns the last. what says in an error what was
// waited for. It ends with see's error, ErrDeadline when ctx's time is over, or ctx's cause.
func (a *App) Await(ctx context.Context, what string, see func(*Tree) (bool, error)) (*Tree, error) {
	var tree *Tree
	err := a.bus.until(ctx, a.Bus, what, func() (ok bool, err error) {
		if tree, err = a.Snapshot(ctx); err != nil {
			return false, err
		}
		return see(tree)
	})
	if err != nil {
		return nil, err
	}
	return tree, nil
}

// Ready waits until a window of the app shows something, and returns the tree. When ctx's time is over
// and all windows are empty, it's ErrNotEnabled: the app publishes its windows and not what is in them,
// as Chromium does unless it's told to when it starts.
func (a *App) Ready(ctx context.Context) (*Tree, error) {
	windows := 0
	tree, err := a.Await(ctx, "something in a window", func(t *Tree) (bool, error) {
		windows = len(t.Root().Children)
		return slices.ContainsFunc(t.Root().Children, func(w *Node) bool { return len(w.Children) > 0 }), nil
	})
	if windows > 0 && errors.Is(err, ErrDeadline) {
		return nil, fail(ErrNotEnabled, "%d windows of %s, and nothing in them: %w", windows, a.Name, err)
	}
	return tree, err
}

// until looks at once, then whenever sender reports something, until look says yes or fails.
func (b *Bus) until(ctx context.Context, sender, what string, look func() (bool, error)) error {
	l := b.Listen(sender)
	defer l.Close()
	for {
		l.drain()
		began := time.Now()
		ok, err := look()
		switch {
		case ctx.Err() != nil && !ok:
			return late(ctx, what)
		case ok || err != nil:
			return err
		}
		if err := l.pause(ctx, max(lookGap, time.Since(began)), what); err != nil {
			return err
		}
	}
}

// pause waits until it's time to look again, at the earliest after gap.
func (l *Listener) pause(ctx context.Context, gap time.Duration, what string) error {
	poll := time.NewTimer(max(pollInterval, gap))
	defer poll.Stop()
	breath := time.NewTimer(gap)
	defer breath.Stop()
	var events <-chan Event // none before the gap is over
	for {
		select {
		case <-breath.C:
			events = l.queue
		case <-events:
			return nil
		case <-poll.C:
			return nil
		case <-l.bus.conn.Context().Done():
			return errBusEnded()
		case <-ctx.Done():
			return late(ctx, what)
		}
	}
}

// late is the error of a wait that ctx ended.
func late(ctx context.Context, what string) error {
	if err := context.Cause(ctx); !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fail(ErrDeadline, "waiting for %s: %w", what, ctx.Err())
}

func errBusEnded() error { return fail(ErrBus, "the accessibility bus ended") }
