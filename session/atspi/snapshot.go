package atspi

import (
	"context"
	"slices"

	"github.com/godbus/dbus/v5"
)

// Snapshot reads all of the app: from its cache where it has one, and from the objects themselves what
// the cache doesn't hold. A tree that changes while it's read is read again, at most twice; a part of
// one is never returned. Errors: ErrTreeBudget, ErrBus, ErrGone, ErrDeadline, ctx's cause.
func (a *App) Snapshot(ctx context.Context) (*Tree, error) {
	for try := 0; ; try++ {
		tree, err := a.read(ctx)
		if err == nil {
			return tree, nil
		}
		if ctx.Err() != nil {
			return nil, late(ctx, "a snapshot")
		}
		if try == maxRetries || !replied(err) {
			return nil, judge(err)
		}
	}
}

func (a *App) read(ctx context.Context) (*Tree, error) {
	objects, err := a.cached(ctx)
	if err != nil {
		return nil, err
	}
	// GTK 4's cache says of every app that it has no window.
	if root := objects[a.Ref]; root != nil && root.count == 0 {
		root.count, root.whole = -1, false
	}
	return a.assemble(ctx, objects)
}

// assemble makes a tree of objects that are known, and of those that aren't.
func (a *App) assemble(ctx context.Context, objects map[Ref]*object) (*Tree, error) {
	w := &walk{app: a, objects: objects, seen: map[Ref]bool{a.Ref: true}}
	if err := w.down(ctx); err != nil {
		return nil, err
	}
	return w.tree(), nil
}

// walk goes down a tree, level by level.
type walk struct {
	app     *App
	objects map[Ref]*object
	seen    map[Ref]bool // what belongs to the tree, each once
}

func (w *walk) down(ctx context.Context) error {
	for level := []Ref{w.app.Ref}; len(level) > 0; level = w.next(level) {
		if len(w.seen) > maxNodes {
			return fail(ErrTreeBudget, "the app has more than %d objects", maxNodes)
		}
		if err := w.complete(ctx, level); err != nil {
			return err
		}
	}
	return nil
}

// next is the level below. A child that has its place already (some apps show one twice) is left out.
func (w *walk) next(level []Ref) []Ref {
	var below []Ref
	for _, r := range level {
		o := w.objects[r]
		o.children = slices.DeleteFunc(o.children, func(c Ref) bool {
			if c.none() || w.seen[c] {
				return true
			}
			w.seen[c] = true
			return false
		})
		below = append(below, o.children...)
	}
	return below
}

// complete asks the objects of a level for what isn't known of them: first of the unknown all but
// their children, then for the children.
func (w *walk) complete(ctx context.Context, level []Ref) error {
	if err := w.details(ctx, level); err != nil {
		return err
	}
	if err := w.counts(ctx, level); err != nil {
		return err
	}
	return w.children(ctx, level)
}

func (w *walk) details(ctx context.Context, level []Ref) error {
	unknown := slices.DeleteFunc(slices.Clone(level), func(r Ref) bool { return w.objects[r] != nil })
	requests := make([]request, 0, 5*len(unknown))
	for _, r := range unknown {
		requests = append(requests, property(r, "Accessible.Name"), method(r, "Accessible.GetRole"),
			method(r, "Accessible.GetInterfaces"), method(r, "Accessible.GetState"), property(r, "Accessible.ChildCount"))
	}
	calls := w.app.bus.callAll(ctx, requests)
	for i, r := range unknown {
		o, err := readObject(r, calls[5*i:])
		if err != nil {
			return err
		}
		w.objects[r] = o
	}
	return nil
}

func readObject(r Ref, calls []*dbus.Call) (*object, error) {
	var (
		name   string
		role   uint32
		ifaces []string
		words  []uint32
		count  int32
	)
	for i, into := range []any{&name, &role, &ifaces, &words, &count} {
		if err := calls[i].Store(into); err != nil {
			return nil, err
		}
	}
	o := newObject(r, name, role, ifaces, words)
	o.count = count
	return o, nil
}

// counts asks how many children there are where the cache doesn't tell, since they may be a million.
func (w *walk) counts(ctx context.Context, level []Ref) error {
	untold := w.without(level, func(o *object) bool { return o.whole || o.count >= 0 })
	requests := make([]request, len(untold))
	for i, o := range untold {
		requests[i] = property(o.node.Ref, "Accessible.ChildCount")
	}
	for i, call := range w.app.bus.callAll(ctx, requests) {
		if err := call.Store(&untold[i].count); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) children(ctx context.Context, level []Ref) error {
	open := w.without(level, func(o *object) bool { return o.whole || o.closed() })
	requests := make([]request, len(open))
	for i, o := range open {
		if o.count > maxNodes {
			return fail(ErrTreeBudget, "a %v has %d children (at most %d objects)", o.node.Role, o.count, maxNodes)
		}
		requests[i] = method(o.node.Ref, "Accessible.GetChildren")
	}
	for i, call := range w.app.bus.callAll(ctx, requests) {
		if err := call.Store(&open[i].children); err != nil {
			return err
		}
	}
	return nil
}

// closed tells whether an object's children aren't to be asked for.
func (o *object) closed() bool {
	o.node.Elided = o.node.States.Has(StateManagesDescendants) && o.count > maxManaged
	return o.count == 0 || o.node.Elided || o.node.States.Has(StateDefunct)
}

// without are a level's objects but for some.
func (w *walk) without(level []Ref, skip func(*object) bool) []*object {
	var left []*object
	for _, r := range level {
		if o := w.objects[r]; !skip(o) {
			left = append(left, o)
		}
	}
	return left
}

// tree puts all in its place.
func (w *walk) tree() *Tree {
	t := &Tree{Nodes: make([]*Node, 0, len(w.seen))}
	var add func(r Ref, parent *Node)
	add = func(r Ref, parent *Node) {
		o := w.objects[r]
		o.node.Parent = parent
		t.Nodes = append(t.Nodes, o.node)
		for _, c := range o.children {
			add(c, o.node)
		}
		if parent != nil {
			parent.Children = append(parent.Children, o.node)
		}
	}
	add(w.app.Ref, nil)
	return t
}
