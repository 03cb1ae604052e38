package atspi

import (
	"context"
	"errors"
	"slices"
	"strings"
)

// Do does the one action of a node that is among the allowed names ("click", "press"). Before, it looks
// whether the node is still what the snapshot showed, and on screen and enabled.
//
// Errors: ErrUnavailable and ErrNotOne if nothing was done, with ErrRefused if the app was asked;
// ErrUncertain if it was and no clear answer came, ErrGone if it left the bus instead: it may have been
// done, so it must not be repeated.
func (a *App) Do(ctx context.Context, n *Node, allowed ...string) error {
	_, err := a.DoOne(ctx, n, allowed...)
	return err
}

// DoOne is Do, and tells which action it was; "" if it didn't come to asking for one.
func (a *App) DoOne(ctx context.Context, n *Node, allowed ...string) (action string, err error) {
	if err := a.confirm(ctx, n, Actionable); err != nil {
		return "", err
	}
	index, action, err := a.action(ctx, n, allowed)
	if errors.Is(err, ErrBus) {
		return "", left(n, err)
	}
	if err != nil {
		return "", err
	}
	err = a.act(ctx, n, index)
	if errors.Is(err, ErrUnavailable) && !errors.Is(err, ErrRefused) {
		return "", err
	}
	return action, err
}

func (a *App) act(ctx context.Context, n *Node, index int32) error {
	var done bool
	if err := a.bus.call(ctx, method(n.Ref, "Action.DoAction", index), &done); err != nil {
		if unknown(err) {
			return left(n, err)
		}
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		} else if a.departed(ctx) {
			return fail(ErrGone, "%v %q was asked to act, and the app has left the accessibility bus: %w", n.Role, n.Name, err)
		}
		return fail(ErrUncertain, "%v %q: %w", n.Role, n.Name, err)
	}
	if !done {
		return fail(ErrUnavailable, "%v %q: %w", n.Role, n.Name, ErrRefused)
	}
	return nil
}

// departed tells whether the app has left the bus, which then answers in its place that it doesn't.
func (a *App) departed(ctx context.Context) bool {
	var there bool
	err := a.bus.call(ctx, request{busItself, busItself.Bus + ".NameHasOwner", []any{a.Bus}}, &there)
	return err == nil && !there
}

// left is the error of a node that went before it was asked for anything.
func left(n *Node, err error) error {
	return fail(ErrUnavailable, "%v %q isn't there any more: %w", n.Role, n.Name, err)
}

// confirm fails with ErrUnavailable unless n is as it was, with states in force now.
func (a *App) confirm(ctx context.Context, n *Node, want States) error {
	calls := a.bus.callAll(ctx, []request{
		method(n.Ref, "Accessible.GetState"), method(n.Ref, "Accessible.GetRole"), property(n.Ref, "Accessible.Name"),
	})
	var words []uint32
	var role uint32
	var name string
	for i, into := range []any{&words, &role, &name} {
		if err := calls[i].Store(into); replied(err) {
			return left(n, err)
		} else if err != nil {
			return a.judge(ctx, err)
		}
	}
	if Role(role) != n.Role || name != n.Name {
		return fail(ErrUnavailable, "%v %q has become %v %q", n.Role, n.Name, Role(role), name)
	}
	if now := states(words); !now.Has(want) {
		return fail(ErrUnavailable, "%v %q isn't %v", n.Role, n.Name, want&^now)
	}
	return nil
}

// action is the index of the only action with an allowed name, and that name.
func (a *App) action(ctx context.Context, n *Node, allowed []string) (int32, string, error) {
	names, err := a.Actions(ctx, n)
	if err != nil {
		return 0, "", err
	}
	var found []int32
	for i, name := range names {
		if slices.Contains(allowed, name) {
			found = append(found, int32(i))
		}
	}
	if len(found) != 1 {
		return 0, "", fail(ErrNotOne, "%v %q can %q, want one of %q", n.Role, n.Name, names, allowed)
	}
	return found[0], names[found[0]], nil
}

// Actions are the names of what can be done with a node, in the app's order. They aren't translated.
func (a *App) Actions(ctx context.Context, n *Node) ([]string, error) {
	var count int32
	if err := a.bus.call(ctx, property(n.Ref, "Action.NActions"), &count); err != nil {
		return nil, a.judge(ctx, err)
	}
	if count < 0 || count > maxActions {
		return nil, fail(ErrTreeBudget, "%v %q has %d actions (at most %d)", n.Role, n.Name, count, maxActions)
	}
	requests := make([]request, count)
	for i := range requests {
		requests[i] = method(n.Ref, "Action.GetName", int32(i))
	}
	names := make([]string, count)
	for i, call := range a.bus.callAll(ctx, requests) {
		if err := call.Store(&names[i]); err != nil {
			return nil, a.judge(ctx, err)
		}
		names[i] = strings.ToLower(names[i])
	}
	return names, nil
}

// judge gives an error of a call its code.
func (a *App) judge(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return late(ctx, "the app's answer")
	}
	return judge(err)
}

// Rect is a place in pixels.
type Rect struct{ X, Y, Width, Height int32 }

// Origin is what a place is counted from (AtspiCoordType).
type Origin uint32

// The origins.
const (
	OfScreen Origin = 0
	OfWindow Origin = 1
)

// Extents tells where a node is.
func (a *App) Extents(ctx context.Context, n *Node, from Origin) (Rect, error) {
	var r Rect
	err := a.bus.call(ctx, method(n.Ref, "Component.GetExtents", uint32(from)), &r)
	return r, a.judge(ctx, err)
}

// Contains tells whether a point is in a node.
func (a *App) Contains(ctx context.Context, n *Node, x, y int32, from Origin) (bool, error) {
	var in bool
	err := a.bus.call(ctx, method(n.Ref, "Component.Contains", x, y, uint32(from)), &in)
	return in, a.judge(ctx, err)
}
