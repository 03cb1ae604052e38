package atspi

import (
	"context"
	"errors"
	"slices"
	"time"
)

// What one waits for is looked at when events come, and now and then, since apps leave some out. An app
// that changes all the time is left lookGap, or as long as a look takes, between two of them.
const (
	pollInterval = 250 * time.Millisecond
	pollUnasked  = 50 * time.Millisecond // as long as apps report nothing
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

// Ready waits until a window of the app shows something, a loaded document if it's made of Chromium,
// asks for events, and returns the tree. It comes first: there are no events before it, and what is
// there now is what snapshots are quick with. When ctx's time is over and all windows are empty, it's
// ErrNotEnabled: the app publishes its windows and not what is in them, as Chromium does unless its
// command line says otherwise.
func (a *App) Ready(ctx context.Context) (*Tree, error) {
	windows, empty := 0, false
	_, err := a.Await(ctx, "something in a window", func(t *Tree) (bool, error) {
		windows = len(t.Root().Children)
		empty = !slices.ContainsFunc(t.Root().Children, func(w *Node) bool { return len(w.Children) > 0 })
		return !empty && (a.Toolkit != "Chromium" || t.loaded()), nil
	})
	switch {
	case windows > 0 && empty && errors.Is(err, ErrDeadline):
		return nil, fail(ErrNotEnabled, "%d windows of %s, and nothing in them: %w", windows, a.Name, err)
	case err != nil:
		return nil, err
	}
	if err := a.bus.register(ctx); err != nil {
		return nil, err
	}
	return a.Snapshot(ctx)
}

// loaded tells whether there are documents on screen, all of them loaded.
func (t *Tree) loaded() bool {
	documents := t.Find(Query{Roles: []Role{RoleDocumentWeb}, States: Available})
	return len(documents) > 0 && !slices.ContainsFunc(documents, func(d *Node) bool {
		return d.States.Has(StateBusy) || len(d.Children) == 0
	})
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
	poll := time.NewTimer(max(l.bus.poll(), gap))
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

func (b *Bus) poll() time.Duration {
	if b.isRegistered() {
		return pollInterval
	}
	return pollUnasked
}

// late is the error of a wait that ctx ended.
func late(ctx context.Context, what string) error {
	if err := context.Cause(ctx); !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fail(ErrDeadline, "waiting for %s: %w", what, ctx.Err())
}

func errBusEnded() error { return fail(ErrBus, "the accessibility bus ended") }
