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
	if items, ok := cacheItems(call.Body); ok {
		return fromCache(items), nil
	}
	var old []oldCacheItem
	_ = dbus.Store(call.Body, &old) // in a shape of its own: as good as none
	return fromOldCache(old), nil
}

// cacheItems takes the items out of an answer as godbus has decoded it. By hand, since dbus.Store's
// reflection would be a sixth of a snapshot's time.
func cacheItems(body []any) ([]cacheItem, bool) {
	if len(body) != 1 {
		return nil, false
	}
	rows, ok := body[0].([][]any)
	if !ok {
		return nil, false
	}
	items := make([]cacheItem, len(rows))
	for i, row := range rows {
		if !items[i].take(row) {
			return nil, false
		}
	}
	return items, true
}

func (it *cacheItem) take(row []any) bool {
	if len(row) != 10 {
		return false
	}
	var ok [10]bool
	it.Ref, ok[0] = refOf(row[0])
	it.App, ok[1] = refOf(row[1])
	it.Parent, ok[2] = refOf(row[2])
	it.Index, ok[3] = row[3].(int32)
	it.Children, ok[4] = row[4].(int32)
	it.Interfaces, ok[5] = row[5].([]string)
	it.Name, ok[6] = row[6].(string)
	it.Role, ok[7] = row[7].(uint32)
	it.Description, ok[8] = row[8].(string)
	it.States, ok[9] = row[9].([]uint32)
	return ok == [10]bool{true, true, true, true, true, true, true, true, true, true}
}

func refOf(v any) (Ref, bool) {
	pair, _ := v.([]any)
	if len(pair) != 2 {
		return Ref{}, false
	}
	bus, isName := pair[0].(string)
	path, isPath := pair[1].(dbus.ObjectPath)
	return Ref{bus, path}, isName && isPath
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
