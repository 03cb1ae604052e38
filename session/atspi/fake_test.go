package atspi_test

import (
	"bufio"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/berth-run/berth/session/atspi"
)

// desktopBus is a real bus with a registry of the test's own, for apps that misbehave as real ones do
// only now and then.
type desktopBus struct {
	address string
	mu      sync.Mutex
	apps    []atspi.Ref
	asked   func() // for its apps
}

func newDesktopBus(t *testing.T) *desktopBus {
	t.Helper()
	path, err := exec.LookPath("dbus-daemon")
	if err != nil {
		t.Skip("dbus-daemon is missing: apt-get install --no-install-recommends dbus-daemon")
	}
	cmd := exec.Command(path, "--session", "--print-address=1", "--nofork", "--nopidfile", "--address=unix:tmpdir=/tmp")
	stdout, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	must(t, err)
	d := &desktopBus{address: strings.TrimSpace(line)}
	conn := d.connect(t)
	serve(t, conn, "/org/a11y/atspi/accessible/root", "Accessible", map[string]any{
		"GetChildren": func() ([]atspi.Ref, *dbus.Error) {
			d.mu.Lock()
			defer d.mu.Unlock()
			if d.asked != nil {
				d.asked()
			}
			return d.apps, nil
		},
	})
	serve(t, conn, "/org/a11y/atspi/registry", "Registry", map[string]any{
		"RegisterEvent": func(string, []string, string) *dbus.Error { return nil },
	})
	_, err = conn.RequestName("org.a11y.atspi.Registry", dbus.NameFlagDoNotQueue)
	must(t, err)
	return d
}

func (d *desktopBus) connect(t *testing.T) *dbus.Conn {
	t.Helper()
	conn, err := dbus.Connect(d.address)
	must(t, err)
	t.Cleanup(func() { conn.Close() })
	return conn
}

func (d *desktopBus) open(t *testing.T) *atspi.Bus {
	t.Helper()
	bus, err := atspi.OpenAddress(t.Context(), d.address)
	must(t, err)
	t.Cleanup(bus.Close)
	return bus
}

func serve(t *testing.T, conn *dbus.Conn, path dbus.ObjectPath, iface string, methods map[string]any) {
	t.Helper()
	must(t, conn.ExportMethodTable(methods, path, "org.a11y.atspi."+iface))
}

// fakeApp is an app whose objects are fakeNodes; its root is the first.
type fakeApp struct {
	conn *dbus.Conn
}

// fakeNode is an object: what it answers.
type fakeNode struct {
	name     string
	role     atspi.Role
	states   atspi.States
	children []string // their paths' last parts
	count    int32    // of children; 0: as many as there are
	fail     func() bool
}

func (d *desktopBus) app(t *testing.T, root fakeNode, nodes map[string]fakeNode) *fakeApp {
	t.Helper()
	a := &fakeApp{conn: d.connect(t)}
	a.add(t, "root", root)
	for id, n := range nodes {
		a.add(t, id, n)
	}
	d.mu.Lock()
	d.apps = append(d.apps, a.ref("root"))
	d.mu.Unlock()
	return a
}

func (a *fakeApp) ref(id string) atspi.Ref {
	return atspi.Ref{Bus: a.conn.Names()[0], Path: dbus.ObjectPath("/org/a11y/atspi/accessible/" + id)}
}

func (a *fakeApp) add(t *testing.T, id string, n fakeNode) {
	t.Helper()
	path := a.ref(id).Path
	vanished := func() *dbus.Error {
		if n.fail != nil && n.fail() {
			return &dbus.Error{Name: "org.freedesktop.DBus.Error.UnknownObject"}
		}
		return nil
	}
	serve(t, a.conn, path, "Accessible", map[string]any{
		"GetRole":       func() (uint32, *dbus.Error) { return uint32(n.role), vanished() },
		"GetInterfaces": func() ([]string, *dbus.Error) { return []string{"org.a11y.atspi.Accessible"}, nil },
		"GetState": func() ([]uint32, *dbus.Error) {
			return []uint32{uint32(n.states), uint32(n.states >> 32)}, nil
		},
		"GetChildren": func() ([]atspi.Ref, *dbus.Error) {
			var refs []atspi.Ref
			for _, c := range n.children {
				refs = append(refs, a.ref(c))
			}
			return refs, nil
		},
	})
	properties := map[string]any{"Get": func(iface, name string) (dbus.Variant, *dbus.Error) {
		switch name {
		case "NActions":
			return dbus.MakeVariant(int32(2)), nil
		case "Name":
			return dbus.MakeVariant(n.name), nil
		case "ChildCount":
			return dbus.MakeVariant(max(n.count, int32(len(n.children)))), nil
		}
		return dbus.Variant{}, &dbus.Error{Name: "org.freedesktop.DBus.Error.InvalidArgs"}
	}}
	must(t, a.conn.ExportMethodTable(properties, path, "org.freedesktop.DBus.Properties"))
}

// flat are n windows below a root.
func flat(name string, n int) (fakeNode, map[string]fakeNode) {
	root, nodes := fakeNode{name: name, role: atspi.RoleApplication}, map[string]fakeNode{}
	for i := range n {
		id := fmt.Sprint(i)
		root.children = append(root.children, id)
		nodes[id] = fakeNode{name: "window " + id, role: atspi.RoleFrame}
	}
	return root, nodes
}

var fake = atspi.Identity{Names: []string{"Fake"}}

// looks is a context whose time is over when the apps are asked for again after n looks at them.
func (d *desktopBus) looks(t *testing.T, n int) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancelCause(soon(t))
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked = func() {
		if n--; n < 0 {
			cancel(context.DeadlineExceeded)
		}
	}
	return ctx
}

func soon(t *testing.T) context.Context { return within(t, time.Minute) }
