package atspi

import (
	"context"
	"errors"
	"time"
)

// blurLimit is how long a focus may take to leave a node.
const blurLimit = 2 * time.Second

// Focus gives a node the keyboard and waits until it has it and its window is the active one: an app may
// tell of a focus in a window that gets no keys, yet or, without a window manager, ever.
//
// That a node has the focus may be old news. Chromium moves it in another process, on a way of its own,
// and keys that are typed before go to what has it really: a space then presses a button. So a focus
// that is there already is first taken away, and seen to be gone.
func (a *App) Focus(ctx context.Context, n *Node) error {
	if err := a.blur(ctx, n); err != nil {
		return err
	}
	granted, err := a.grab(ctx, n)
	if err != nil {
		return err
	}
	if !granted {
		// GTK 4 has nobody else move its focus; where it is there already, that will do.
		if ok, err := a.hasFocus(ctx, n); err != nil || ok {
			return err
		}
		return fail(ErrUnavailable, "%v %q takes no focus", n.Role, n.Name)
	}
	return a.bus.until(ctx, a.Bus, "the focus", func() (bool, error) { return a.hasFocus(ctx, n) })
}

// hasFocus tells whether keys that are typed now come to n.
func (a *App) hasFocus(ctx context.Context, n *Node) (bool, error) {
	now, err := a.statesOf(ctx, n, n.window())
	return err == nil && now[0].Has(StateFocused) && now[1].Has(StateActive), err
}

// blur moves the focus from n to what n is in. An app that doesn't let it go is left alone after
// blurLimit.
func (a *App) blur(ctx context.Context, n *Node) error {
	now, err := a.statesOf(ctx, n)
	if err != nil || !now[0].Has(StateFocused) {
		return err
	}
	outer := n.Parent
	for outer != nil && !outer.States.Has(StateFocusable|Available) {
		outer = outer.Parent
	}
	if outer == nil || outer.Parent == nil {
		return nil
	}
	if granted, err := a.grab(ctx, outer); err != nil || !granted {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, blurLimit)
	defer cancel()
	err = a.bus.until(limited, a.Bus, "the focus to leave", func() (bool, error) {
		now, err := a.statesOf(limited, n)
		return err == nil && !now[0].Has(StateFocused), err
	})
	if errors.Is(err, ErrDeadline) && ctx.Err() == nil {
		return nil
	}
	return err
}

// grab asks for the focus; false is a refusal.
func (a *App) grab(ctx context.Context, n *Node) (bool, error) {
	var granted bool
	err := a.bus.call(ctx, method(n.Ref, "Component.GrabFocus"), &granted)
	if replied(err) {
		return false, nil
	}
	return granted, a.judge(ctx, err)
}

// statesOf are the states of nodes as they are now.
func (a *App) statesOf(ctx context.Context, nodes ...*Node) ([]States, error) {
	requests := make([]request, len(nodes))
	for i, n := range nodes {
		requests[i] = method(n.Ref, "Accessible.GetState")
	}
	now := make([]States, len(nodes))
	for i, call := range a.bus.callAll(ctx, requests) {
		var words []uint32
		if err := call.Store(&words); err != nil {
			return nil, a.judge(ctx, err)
		}
		now[i] = states(words)
	}
	return now, nil
}
