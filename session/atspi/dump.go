package atspi

import (
	"context"
	"fmt"
	"io"
	"strings"
)

// Object is a node as evidence: what a person looks for when a control wasn't found.
type Object struct {
	Depth  int // 0 for the app itself
	Role   string
	Name   string
	States string
	// Area is where the object is on screen; nil if it's nowhere.
	Area *Rect
	// Action is the first thing that can be done with it; few can do more.
	Action string
}

// Dump is all of an app, in the order of the document. It holds whatever the app shows.
func (a *App) Dump(ctx context.Context) ([]Object, error) {
	tree, err := a.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	objects := make([]Object, len(tree.Nodes))
	for i, n := range tree.Nodes {
		objects[i] = Object{Depth: n.depth(), Role: n.Role.String(), Name: n.Name, States: n.States.String()}
	}
	a.places(ctx, tree, objects)
	a.deeds(ctx, tree, objects)
	return objects, ctx.Err()
}

func (n *Node) depth() int {
	if n.Parent == nil {
		return 0
	}
	return 1 + n.Parent.depth()
}

// places fills in where objects are. One that has gone meanwhile is nowhere.
func (a *App) places(ctx context.Context, t *Tree, objects []Object) {
	seen := t.indices(Query{States: Available, Interfaces: HasComponent})
	requests := make([]request, len(seen))
	for i, at := range seen {
		requests[i] = method(t.Nodes[at].Ref, "Component.GetExtents", uint32(OfScreen))
	}
	for i, call := range a.bus.callAll(ctx, requests) {
		var r Rect
		if call.Store(&r) == nil {
			objects[seen[i]].Area = &r
		}
	}
}

// deeds fills in the first action of those that have any.
func (a *App) deeds(ctx context.Context, t *Tree, objects []Object) {
	able := t.indices(Query{States: Available, Interfaces: HasAction})
	requests := make([]request, len(able))
	for i, at := range able {
		requests[i] = method(t.Nodes[at].Ref, "Action.GetName", int32(0))
	}
	for i, call := range a.bus.callAll(ctx, requests) {
		_ = call.Store(&objects[able[i]].Action) // gone meanwhile
	}
}

// indices are the places in t.Nodes of those that match.
func (t *Tree) indices(q Query) []int {
	var at []int
	for i, n := range t.Nodes {
		if q.matches(n) {
			at = append(at, i)
		}
	}
	return at
}

// WriteObjects writes objects as lines of text, indented by their depth.
func WriteObjects(w io.Writer, objects []Object) error {
	for _, o := range objects {
		line := fmt.Sprintf("%s%s %q", strings.Repeat("  ", o.Depth), o.Role, o.Name)
		if o.Area != nil {
			line += fmt.Sprintf(" %dx%d+%d+%d", o.Area.Width, o.Area.Height, o.Area.X, o.Area.Y)
		}
		if o.Action != "" {
			line += " can " + o.Action
		}
		if _, err := fmt.Fprintf(w, "%s [%s]\n", line, o.States); err != nil {
			return err
		}
	}
	return nil
}
