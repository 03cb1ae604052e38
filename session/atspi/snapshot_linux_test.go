package atspi_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/berth-run/berth/session/atspi"
	"github.com/berth-run/berth/session/sessiontest"
)

// linked waits until the page shows all of its links.
func linked(t testing.TB, app *atspi.App, links int) *atspi.Tree {
	t.Helper()
	_, err := app.Ready(within(t, 2*time.Minute))
	must(t, err)
	tree, err := app.Await(within(t, 2*time.Minute), "the links", func(tree *atspi.Tree) (bool, error) {
		return len(tree.Find(atspi.Query{Roles: []atspi.Role{atspi.RoleLink}})) == links+1, nil // one is in the letter
	})
	must(t, err)
	return tree
}

// TestSnapshotIsWhole: by the cache and by the objects themselves, a tree is the same, also when it has
// grown, and the cache alone is enough for it.
func TestSnapshotIsWhole(t *testing.T) {
	d, p := newDesk(t), newPage(t)
	app := d.browse(t, p.URL+"?links=50", accessible)
	for links := 50; links <= 250; links += 100 {
		tree := linked(t, app, links)
		walked, err := app.Walk(t.Context())
		must(t, err)
		if diff := cmp.Diff(outline(walked), outline(tree), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("walked (-), by the cache (+):\n%s", diff)
		}
		if missing := app.Uncached(t.Context(), tree); len(missing) > 0 {
			t.Errorf("%d of %d nodes aren't in the cache: %v", len(missing), len(tree.Nodes), missing)
		}
		must(t, app.Do(t.Context(), one(t, app, button("Add links")), "press"))
	}
}

// TestSnapshotFillsGaps: with a listener from before its start, an app's cache never has the document.
func TestSnapshotFillsGaps(t *testing.T) {
	d, p := newDesk(t), newPage(t)
	bus, err := atspi.Open(t.Context(), sessiontest.Getenv(d.Session, "DBUS_SESSION_BUS_ADDRESS"))
	must(t, err)
	t.Cleanup(bus.Close)
	must(t, bus.Register(t.Context()))
	app := d.browse(t, p.URL+"?links=20", accessible)
	tree := linked(t, app, 20)
	walked, err := app.Walk(t.Context())
	must(t, err)
	if diff := cmp.Diff(outline(walked), outline(tree), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("walked (-), by the cache (+):\n%s", diff)
	}
	if missing := app.Uncached(t.Context(), tree); len(missing) < 40 {
		t.Errorf("the cache has all but %d nodes: has the app changed for the better?", len(missing))
	}
}

// outline is the document as lines: depth and all that a snapshot tells of a node but its passing states.
// (The browser's own controls change by themselves: a tab tells how much memory it uses.)
func outline(tree *atspi.Tree) []string {
	var lines []string
	document := tree.Find(atspi.Query{Roles: []atspi.Role{atspi.RoleDocumentWeb}, States: atspi.Available})[0]
	for _, n := range tree.Find(atspi.Query{Within: document}) {
		depth := 0
		for p := n.Parent; p != nil; p = p.Parent {
			depth++
		}
		lines = append(lines, fmt.Sprintf("%d %v %v %q %d %d", depth, n.Ref, n.Role, n.Name, n.Interfaces, len(n.Children)))
	}
	return lines
}

// BenchmarkSnapshot reads a Chromium window, by its cache and without.
func BenchmarkSnapshot(b *testing.B) {
	d, p := newDesk(b), newPage(b)
	for _, links := range []int{0, 450} {
		b.Run(fmt.Sprintf("links=%d", links), func(b *testing.B) {
			app := d.browse(b, fmt.Sprintf("%s?links=%d", p.URL, links), accessible)
			nodes := float64(len(linked(b, app, links).Nodes))
			b.Run("cache", func(b *testing.B) { measure(b, nodes, app.Snapshot) })
			b.Run("walk", func(b *testing.B) { measure(b, nodes, app.Walk) })
		})
	}
}

func measure(b *testing.B, nodes float64, read func(context.Context) (*atspi.Tree, error)) {
	for b.Loop() {
		if _, err := read(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(nodes, "nodes")
}
