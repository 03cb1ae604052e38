package atspi

import (
	"context"

	"github.com/godbus/dbus/v5"
)

// cacheItem is what Cache.GetItems tells of an object: a((so)(so)(so)iiassusau).
type cacheItem struct {
	Ref, App, Parent Ref
	Index            int32 // in Parent; -1: not told
	Children         int32 // how many; -1: not told
	Interfaces       []string
	Name             string
	Role             uint32
	Description      string
	States           []uint32
}

// oldCacheItem is the same before at-spi2-core 2.39, as Qt still sends it: a((so)(so)(so)a(so)assusau).
type oldCacheItem struct {
	Ref, App, Parent Ref
	Children         []Ref
	Interfaces       []string
	Name             string
	Role             uint32
	Description      string
	States           []uint32
}

// object is what is known of an object before it has its place in a tree.
type object struct {
	node     *Node
	count    int32 // of children, -1: not known
	children []Ref
	whole    bool // children are all of them
}

func newObject(r Ref, name string, role uint32, ifaces []string, words []uint32) *object {
	return &object{count: -1, node: &Node{
		Ref: r, Name: name, Role: Role(role), Interfaces: interfaces(ifaces), States: states(words),
	}}
}

// cached asks the app for all that it has at hand, in one call. That may be nothing, and need not be
// everything: a cache fills as objects are seen, so what isn't in it isn't therefore absent.
func (a *App) cached(ctx context.Context) (map[Ref]*object, error) {
	call := a.bus.callAll(ctx, []request{method(Ref{a.Bus, "/org/a11y/atspi/cache"}, "Cache.GetItems")})[0]
	if replied(call.Err) {
		return map[Ref]*object{}, nil // an app without a cache
	}
	if call.Err != nil {
		return nil, call.Err
	}
	var items []cacheItem
	if dbus.Store(call.Body, &items) == nil {
		return fromCache(items), nil
	}
	var old []oldCacheItem
	_ = dbus.Store(call.Body, &old) // in a shape of its own: as good as none
	return fromOldCache(old), nil
}

// fromCache gives every object those children that name it as parent. They are whole if they are as
// many as it says, each in its own place.
func fromCache(items []cacheItem) map[Ref]*object {
	objects := make(map[Ref]*object, len(items))
	children := make(map[Ref][]*cacheItem, len(items))
	for i := range items {
		it := &items[i]
		o := newObject(it.Ref, it.Name, it.Role, it.Interfaces, it.States)
		o.count = it.Children
		objects[it.Ref] = o
		children[it.Parent] = append(children[it.Parent], it)
	}
	for r, o := range objects {
		o.children, o.whole = inOrder(children[r], o.count)
	}
	return objects
}

func inOrder(items []*cacheItem, count int32) ([]Ref, bool) {
	if int(count) != len(items) {
		return nil, false
	}
	refs := make([]Ref, count)
	for _, it := range items {
		if it.Index < 0 || it.Index >= count || refs[it.Index] != (Ref{}) {
			return nil, false
		}
		refs[it.Index] = it.Ref
	}
	return refs, true
}

func fromOldCache(items []oldCacheItem) map[Ref]*object {
	objects := make(map[Ref]*object, len(items))
	for _, it := range items {
		o := newObject(it.Ref, it.Name, it.Role, it.Interfaces, it.States)
		o.count, o.children, o.whole = int32(len(it.Children)), it.Children, true
		objects[it.Ref] = o
	}
	return objects
}
