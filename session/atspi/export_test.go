package atspi

import "context"

// Walk is Snapshot without the app's cache.
func (a *App) Walk(ctx context.Context) (*Tree, error) {
	return a.assemble(ctx, map[Ref]*object{})
}

// Uncached are the nodes of a tree that the app's cache doesn't hold with all of their children.
func (a *App) Uncached(ctx context.Context, t *Tree) []*Node {
	objects, _ := a.cached(ctx) // nil for none
	var missing []*Node
	for _, n := range t.Nodes {
		if o := objects[n.Ref]; o == nil || !o.whole {
			missing = append(missing, n)
		}
	}
	return missing
}

// Register is what Ready does in its time.
func (b *Bus) Register(ctx context.Context) error { return b.register(ctx) }
