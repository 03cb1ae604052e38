// Package atspi drives an app through the accessibility bus (AT-SPI2): find the app, take a snapshot of
// its tree, find controls by role, name and states, act on them, read and write text, and wait for what
// comes of it. It knows no app: which names, labels and actions to look for is its caller's data. It
// starts nothing and looks at no pixels; those are packages session and session/x11.
package atspi

import (
	"context"
	"fmt"
	"sync"

	"github.com/godbus/dbus/v5"

	"github.com/berth-run/berth/session/bus"
)

// Where things are on the buses (AT-SPI2, xml/ in at-spi2-core).
const (
	launcherName = "org.a11y.Bus"
	registryName = "org.a11y.atspi.Registry"
)

var (
	registry = Ref{registryName, "/org/a11y/atspi/registry"}
	desktop  = Ref{registryName, "/org/a11y/atspi/accessible/root"}
)

// Bus is a connection to the accessibility bus. It's safe for concurrent use.
type Bus struct {
	conn   *dbus.Conn
	events *hub

	mu         sync.Mutex
	registered bool
}

// Open connects to the accessibility bus that belongs to the session bus at address. Open one for each
// start of an app, and close it when the app has ended: the next app mustn't find a listener when it
// starts (see App.Ready).
func Open(ctx context.Context, address string) (*Bus, error) {
	session, err := bus.Connect(ctx, address)
	if err != nil {
		return nil, err
	}
	defer session.Close() // nothing is lost with it
	var own string
	launcher := session.Object(launcherName, "/org/a11y/bus")
	if err := launcher.CallWithContext(ctx, launcherName+".GetAddress", 0).Store(&own); err != nil {
		return nil, fmt.Errorf("asking for the accessibility bus: %w", err)
	}
	return OpenAddress(ctx, own)
}

// OpenAddress is Open for a caller that knows the accessibility bus's own address.
func OpenAddress(ctx context.Context, address string) (*Bus, error) {
	events := &hub{}
	conn, err := bus.Connect(ctx, address, dbus.WithSignalHandler(events))
	if err != nil {
		return nil, err
	}
	b := &Bus{conn: conn, events: events}
	for _, iface := range []string{eventObject, eventWindow} {
		if err := conn.AddMatchSignalContext(ctx, dbus.WithMatchInterface(iface)); err != nil {
			b.Close()
			return nil, err
		}
	}
	return b, nil
}

// register asks all apps to report changes, once. Before somebody has, they report none and answer no
// Cache.GetItems.
//
// It must not come too early: an app that is asked makes its cache then and there, keeps it for life, and
// adds what it's told of as new. A document that Chromium attaches later is none of that, and nothing in
// it is ever cached.
func (b *Bus) register(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, class := range []string{"object:", "window:"} {
		if b.registered {
			return nil
		}
		if err := b.call(ctx, method(registry, "Registry.RegisterEvent", class, []string{}, "")); err != nil {
			return judge(err)
		}
	}
	b.registered = true
	return nil
}

func (b *Bus) isRegistered() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.registered
}

// Close ends the connection, and with it all waiting.
func (b *Bus) Close() {
	b.conn.Close() // closed is what was wanted
}
