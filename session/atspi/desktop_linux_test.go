package atspi_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-run/berth/session"
	"github.com/berth-run/berth/session/atspi"
	"github.com/berth-run/berth/session/client/process"
	"github.com/berth-run/berth/session/sessiontest"
	"github.com/berth-run/berth/session/x11"
)

// text has what a keyboard has no key for: accents, CJK, emoji of one and of several code points, and
// quotes; lines has line breaks too.
const (
	text  = `Grüße, "quoted" – ça va? 漢字かな 한국어 ✓ 🙂 👩‍👩‍👧 end`
	lines = "first line\nzweite Zeile: äöü\n\n  fourth, after an empty one: 漢字 🙂\n\tlast"
)

// desk is a real session, and what its apps are written to with.
type desk struct {
	*session.Session
	clipboard *x11.Clipboard
	keyboard  *x11.Keyboard
}

func newDesk(t testing.TB) *desk {
	t.Helper()
	if os.Geteuid() == 0 {
		t.Skip("Chromium doesn't start as root: run as an ordinary user (scripts/rootless go test ...)")
	}
	s := sessiontest.Start(t)
	number := sessiontest.Getenv(s, "DISPLAY")
	clipboard, err := x11.OpenClipboard(t.Context(), number)
	must(t, err)
	t.Cleanup(clipboard.Close)
	display, err := x11.Open(t.Context(), number)
	must(t, err)
	t.Cleanup(display.Close)
	keyboard, err := display.OpenKeyboard(t.Context())
	must(t, err)
	return &desk{s, clipboard, keyboard}
}

// find waits for an app that was just started.
func (d *desk) find(t testing.TB, id atspi.Identity) *atspi.App {
	t.Helper()
	bus, err := atspi.Open(t.Context(), sessiontest.Getenv(d.Session, "DBUS_SESSION_BUS_ADDRESS"))
	must(t, err)
	t.Cleanup(bus.Close)
	app, err := bus.Find(within(t, 2*time.Minute), id)
	must(t, err)
	return app
}

func (d *desk) input(nl atspi.Newline) atspi.Input {
	return atspi.Input{Keyboard: d.keyboard, Clipboard: d.clipboard, Newline: nl}
}

// start runs a program on the desktop until the test's end.
func (d *desk) start(t testing.TB, pkg, path string, args ...string) *process.Process {
	t.Helper()
	sessiontest.Need(t, path, pkg)
	home := t.TempDir()
	env := slices.DeleteFunc(d.Env(), func(kv string) bool { return strings.HasPrefix(kv, "HOME=") })
	env = append(env, "HOME="+home, "XDG_CONFIG_HOME="+filepath.Join(home, ".config"),
		"XDG_CACHE_HOME="+filepath.Join(home, ".cache"), "PATH=/usr/bin:/bin", "LANG=C.UTF-8")
	p, err := process.Start(process.Spec{Path: path, Args: args, Dir: home, Env: env})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s said: %s", path, p.Stderr())
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := p.End(ctx); err != nil {
			t.Error(err)
		}
	})
	return p
}

// one finds a control, waiting for it.
func one(t testing.TB, a *atspi.App, q atspi.Query) *atspi.Node {
	t.Helper()
	var n *atspi.Node
	_, err := a.Await(within(t, time.Minute), "a control", func(tree *atspi.Tree) (bool, error) {
		var err error
		n, err = tree.One(q)
		return err == nil, nil
	})
	if err != nil {
		logTree(t, a)
		t.Fatalf("%v %q: %v", q.Roles, q.Names, err)
	}
	return n
}

// logTree shows what of an app is on screen.
func logTree(t testing.TB, a *atspi.App) {
	tree, err := a.Snapshot(t.Context())
	if err != nil {
		t.Log(err)
		return
	}
	for _, n := range tree.Find(atspi.Query{States: atspi.Available}) {
		t.Logf("%v %q: %v", n.Role, n.Name, n.States)
	}
}

func button(name string) atspi.Query {
	return atspi.Query{Roles: []atspi.Role{atspi.RoleButton}, Names: []string{name}, States: atspi.Actionable}
}

func entry(name string) atspi.Query {
	return atspi.Query{
		Roles: []atspi.Role{atspi.RoleEntry, atspi.RoleText}, Names: []string{name},
		States: atspi.Actionable | atspi.StateEditable, Interfaces: atspi.HasText,
	}
}
