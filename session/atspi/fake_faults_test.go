package atspi_test

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/godbus/dbus/v5"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/codetest"
	"github.com/berth-run/berth/session/atspi"
)

func TestFindAmongMany(t *testing.T) {
	d := newDesktopBus(t)
	empty, none := flat("Fake", 0)
	other, windows := flat("Other", 2)
	d.app(t, empty, none)
	d.app(t, other, windows)
	bus := d.open(t)

	if _, err := bus.Find(d.looks(t, 1), fake); !errors.Is(err, atspi.ErrNotEnabled) {
		t.Errorf("an app without a window: %v", err)
	}
	missing := atspi.Identity{Names: []string{"Nobody"}}
	if _, err := bus.Find(d.looks(t, 1), missing); !errors.Is(err, atspi.ErrDeadline) {
		t.Errorf("no app: %v", err)
	}
	root, nodes := flat("fAKE", 1)
	want := d.app(t, root, nodes)
	app, err := bus.Find(soon(t), fake)
	must(t, err)
	if app.Ref != want.ref("root") {
		t.Errorf("found %+v, want %v", app, want.ref("root"))
	}
	owned := atspi.Identity{Names: fake.Names, Owns: func(pid int) bool { return pid != app.PID }}
	if _, err := bus.Find(d.looks(t, 1), owned); !errors.Is(err, atspi.ErrDeadline) {
		t.Errorf("somebody else's app: %v", err)
	}
	alias := atspi.Identity{Names: []string{"other"}}
	if _, err := bus.Find(soon(t), missing, alias, fake); !errors.Is(err, atspi.ErrAppAmbiguous) {
		t.Errorf("an app by each of two identities: %v", err)
	}
	if app, err := bus.Find(soon(t), missing, alias); err != nil || app.Name != "Other" || missing.Matches(app) || !alias.Matches(app) {
		t.Errorf("by the second identity: %+v %v", app, err)
	}
	d.app(t, root, nodes)
	if _, err := bus.Find(soon(t), fake); !errors.Is(err, atspi.ErrAppAmbiguous) {
		t.Errorf("two apps: %v", err)
	}
}

func TestAppsBudget(t *testing.T) {
	d := newDesktopBus(t)
	root, nodes := flat("Fake", 1)
	a := d.app(t, root, nodes)
	d.apps = slices.Repeat([]atspi.Ref{a.ref("root")}, 129)
	if _, err := d.open(t).Find(soon(t), fake); !errors.Is(err, atspi.ErrTreeBudget) {
		t.Errorf("got %v", err)
	}
}

// found gives the app of a desktop.
func (d *desktopBus) found(t *testing.T) *atspi.App {
	t.Helper()
	app, err := d.open(t).Find(soon(t), fake)
	must(t, err)
	return app
}

func TestSnapshotChanging(t *testing.T) {
	for failures, want := range map[int32]error{0: nil, 2: nil, 3: atspi.ErrBus} {
		var left atomic.Int32
		left.Store(failures)
		d := newDesktopBus(t)
		root, nodes := flat("Fake", 3)
		n := nodes["1"]
		n.fail = func() bool { return left.Add(-1) >= 0 }
		nodes["1"] = n
		d.app(t, root, nodes)
		tree, err := d.found(t).Snapshot(soon(t))
		if !errors.Is(err, want) {
			t.Errorf("%d failures: %v", failures, err)
		}
		if want == nil && len(tree.Nodes) != 4 || want != nil && tree != nil {
			t.Errorf("%d failures: %+v", failures, tree)
		}
	}
}

func TestSnapshotBudget(t *testing.T) {
	d := newDesktopBus(t)
	root, nodes := flat("Fake", 4)
	huge := fakeNode{role: atspi.RoleTable, count: 1 << 30}
	nodes["3"] = huge
	d.app(t, root, nodes)
	_, err := d.found(t).Snapshot(soon(t))
	if !errors.Is(err, atspi.ErrTreeBudget) {
		t.Errorf("a table of %d cells: %v", huge.count, err)
	}
	codetest.Saw(t, code.Of(err))
}

// TestSnapshotElides: a table that makes its cells when asked isn't asked for a billion of them.
func TestSnapshotElides(t *testing.T) {
	d := newDesktopBus(t)
	root, nodes := flat("Fake", 4)
	nodes["3"] = fakeNode{role: atspi.RoleTable, count: 1 << 30, states: atspi.StateManagesDescendants}
	d.app(t, root, nodes)
	tree, err := d.found(t).Snapshot(soon(t))
	must(t, err)
	if n := tree.Nodes[4]; !n.Elided || len(tree.Nodes) != 5 {
		t.Errorf("%d nodes, the table %+v", len(tree.Nodes), n)
	}
}

// TestSnapshotLoop: an app that shows a node below itself.
func TestSnapshotLoop(t *testing.T) {
	d := newDesktopBus(t)
	root, nodes := flat("Fake", 2)
	nodes["1"] = fakeNode{role: atspi.RolePanel, children: []string{"0", "1", "root"}}
	d.app(t, root, nodes)
	tree, err := d.found(t).Snapshot(soon(t))
	must(t, err)
	if len(tree.Nodes) != 3 {
		t.Errorf("%d nodes, want 3", len(tree.Nodes))
	}
}

func TestAppGone(t *testing.T) {
	d := newDesktopBus(t)
	root, nodes := flat("Fake", 1)
	a := d.app(t, root, nodes)
	app := d.found(t)
	a.conn.Close()
	if _, err := app.Snapshot(soon(t)); !errors.Is(err, atspi.ErrGone) {
		t.Errorf("got %v", err)
	}
}

// TestBusGone: a bus that ends isn't taken for an app that does.
func TestBusGone(t *testing.T) {
	d := newDesktopBus(t)
	root, nodes := flat("Fake", 1)
	d.app(t, root, nodes)
	bus := d.open(t)
	app, err := bus.Find(soon(t), fake)
	must(t, err)
	bus.Close()
	if _, err := app.Snapshot(soon(t)); !errors.Is(err, atspi.ErrBus) {
		t.Errorf("got %v", err)
	}
}

func TestActionAnswers(t *testing.T) {
	for name, test := range map[string]struct {
		do   func() (bool, *dbus.Error)
		want error
	}{
		"done":    {func() (bool, *dbus.Error) { return true, nil }, nil},
		"refused": {func() (bool, *dbus.Error) { return false, nil }, atspi.ErrRefused},
		"failed": {func() (bool, *dbus.Error) { return false, &dbus.Error{Name: "org.freedesktop.DBus.Error.Failed"} },
			atspi.ErrUncertain},
		"gone": {func() (bool, *dbus.Error) {
			return false, &dbus.Error{Name: "org.freedesktop.DBus.Error.UnknownObject"}
		},
			atspi.ErrUnavailable},
		"leaves": {nil, atspi.ErrGone},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesktopBus(t)
			root, nodes := flat("Fake", 1)
			nodes["0"] = fakeNode{name: "OK", role: atspi.RoleButton, states: atspi.Actionable}
			a := d.app(t, root, nodes)
			var done atomic.Int32
			serve(t, a.conn, a.ref("0").Path, "Action", map[string]any{
				"GetName": func(i int32) (string, *dbus.Error) { return []string{"Press", "menu"}[i], nil },
				"DoAction": func(i int32) (bool, *dbus.Error) {
					done.Add(1)
					if test.do == nil {
						a.conn.Close()
						return true, nil // which nobody gets any more
					}
					return test.do()
				},
			})
			app := d.found(t)
			tree, err := app.Snapshot(soon(t))
			must(t, err)
			action, err := app.DoOne(soon(t), tree.Nodes[1], "press")
			if !errors.Is(err, test.want) || test.want == nil && err != nil {
				t.Errorf("got %v, want %v", err, test.want)
			}
			codetest.Saw(t, code.Of(err))
			if asked := name != "gone"; (action == "press") != asked || errors.Is(err, atspi.ErrRefused) != (name == "refused") {
				t.Errorf("got action %q and %v", action, err)
			}
			if n := done.Load(); n != 1 {
				t.Errorf("it was done %d times", n)
			}
		})
	}
}

func TestEventBudget(t *testing.T) {
	d := newDesktopBus(t)
	root, nodes := flat("Fake", 1)
	a := d.app(t, root, nodes)
	bus := d.open(t)
	app, err := bus.Find(soon(t), fake)
	must(t, err)
	l := bus.Listen(app.Bus)
	defer l.Close()
	emit := func(i int) {
		must(t, a.conn.Emit(a.ref("0").Path, "org.a11y.atspi.Event.Object.StateChanged", "focused", int32(i), int32(0),
			dbus.MakeVariant(0), map[string]dbus.Variant{}))
	}
	for i := range 300 {
		emit(i)
	}
	_, err = app.Snapshot(soon(t)) // its answers come after all events
	must(t, err)
	for i := range 256 {
		e, err := l.Next(soon(t))
		must(t, err)
		if e.Class != "Object.StateChanged" || e.Kind != "focused" || e.Detail1 != int32(i) || e.Source != a.ref("0") {
			t.Fatalf("event %d is %+v", i, e)
		}
	}
	_, err = l.Next(soon(t))
	if !errors.Is(err, atspi.ErrEventBudget) {
		t.Errorf("after 300 events: %v", err)
	}
	codetest.Saw(t, code.Of(err))
	emit(1000)
	if e, err := l.Next(soon(t)); err != nil || e.Detail1 != 1000 {
		t.Errorf("the next: %+v %v", e, err)
	}
}
