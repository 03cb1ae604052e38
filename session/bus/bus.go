// Package bus holds what the parts of a session share over D-Bus: opening a connection that outlives
// the start it belongs to, and waiting for a name without polling. It speaks to no service.
package bus

import (
	"context"
	"errors"
	"fmt"

	"github.com/godbus/dbus/v5"
)

// daemon is the name of the bus itself.
const daemon = "org.freedesktop.DBus"

// ErrClosed: the bus closed the connection.
var ErrClosed = errors.New("the bus closed the connection")

// Connect opens a connection of its own to the bus at address, such as "unix:path=/run/user/1000/bus".
// ctx bounds the opening only; the caller closes the connection.
func Connect(ctx context.Context, address string, opts ...dbus.ConnOption) (*dbus.Conn, error) {
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, cancel)
	conn, err := dbus.Connect(address, append(opts, dbus.WithContext(life))...)
	if !stop() {
		err = context.Cause(ctx)
	}
	if err != nil {
		cancel()
		return nil, fmt.Errorf("connecting to the bus %s: %w", address, err)
	}
	return conn, nil
}

// Owner is the unique name of name's owner, "" when it has none. Asking starts no service.
func Owner(ctx context.Context, conn *dbus.Conn, name string) (string, error) {
	var owner string
	err := conn.BusObject().CallWithContext(ctx, daemon+".GetNameOwner", 0, name).Store(&owner)
	if reply := (dbus.Error{}); errors.As(err, &reply) && reply.Name == daemon+".Error.NameHasNoOwner" {
		return "", nil
	}
	return owner, err
}

// AwaitOwner waits until name has an owner and gives the owner's unique name.
func AwaitOwner(ctx context.Context, conn *dbus.Conn, name string) (string, error) {
	signals := make(chan *dbus.Signal, 16)
	conn.Signal(signals)
	defer conn.RemoveSignal(signals)
	match := []dbus.MatchOption{
		dbus.WithMatchSender(daemon), dbus.WithMatchInterface(daemon),
		dbus.WithMatchMember("NameOwnerChanged"), dbus.WithMatchArg(0, name),
	}
	if err := conn.AddMatchSignalContext(ctx, match...); err != nil {
		return "", err
	}
	defer func() { _ = conn.RemoveMatchSignal(match...) }() // the connection's end does it too

	if owner, err := Owner(ctx, conn, name); owner != "" || err != nil {
		return owner, err
	}
	return nextOwner(ctx, signals, name)
}

// nextOwner reads signals until one says that name has got an owner.
func nextOwner(ctx context.Context, signals <-chan *dbus.Signal, name string) (string, error) {
	for {
		select {
		case s, open := <-signals:
			if !open {
				return "", ErrClosed
			}
			var of, old, owner string
			if s.Name == daemon+".NameOwnerChanged" && dbus.Store(s.Body, &of, &old, &owner) == nil &&
				of == name && owner != "" {
				return owner, nil
			}
		case <-ctx.Done():
			return "", fmt.Errorf("nobody owns %s: %w", name, context.Cause(ctx))
		}
	}
}
