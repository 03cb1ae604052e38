package atspi

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/godbus/dbus/v5"
)

const (
	// callTimeout bounds one call: who doesn't answer for so long hangs, and isn't only busy.
	callTimeout = 30 * time.Second
	// width bounds the calls that are on their way at once. More gains nothing: an app answers one after
	// the other.
	width = 64
)

// Ref names an object: its app's unique name on the bus, and a path within the app. Apps rebuild their
// trees, so one is good for a moment only; search again rather than keep it.
type Ref struct {
	Bus  string
	Path dbus.ObjectPath
}

// none tells whether r is what apps give for "no object".
func (r Ref) none() bool { return r.Path == "" || strings.HasSuffix(string(r.Path), "/null") }

// request is one call: a method by its full name, with its arguments.
type request struct {
	ref    Ref
	method string
	args   []any
}

// method is a call of an AT-SPI method, named like "Action.DoAction".
func method(r Ref, name string, args ...any) request {
	return request{r, "org.a11y.atspi." + name, args}
}

// property is the reading of an AT-SPI property, named like "Accessible.Name". Its answer can be stored
// as the property's own type.
func property(r Ref, name string) request {
	iface, prop, _ := strings.Cut(name, ".")
	return request{r, "org.freedesktop.DBus.Properties.Get", []any{"org.a11y.atspi." + iface, prop}}
}

// call makes a call and stores what it answers.
func (b *Bus) call(ctx context.Context, r request, into ...any) error {
	calls := b.callAll(ctx, []request{r})
	if err := calls[0].Err; err != nil {
		return err
	}
	return calls[0].Store(into...)
}

// callAll makes calls side by side, at most width at a time, and returns them done, in their order. When
// no answer has come for callTimeout, what is still open fails with ErrHangs.
func (b *Bus) callAll(ctx context.Context, requests []request) []*dbus.Call {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := time.AfterFunc(callTimeout, func() { cancel(ErrHangs) })
	defer silence.Stop()

	calls := make([]*dbus.Call, len(requests))
	done := make(chan *dbus.Call, width)
	await := func() {
		if call := <-done; call.Err != nil && ctx.Err() != nil {
			call.Err = context.Cause(ctx)
		}
		silence.Reset(callTimeout)
	}
	for i, r := range requests {
		if i >= width {
			await()
		}
		object := b.conn.Object(r.ref.Bus, r.ref.Path)
		calls[i] = object.GoWithContext(ctx, r.method, dbus.FlagNoAutoStart, done, r.args...)
	}
	for range min(width, len(requests)) {
		await()
	}
	return calls
}

// replied tells whether err is an answer: who was asked is there, and refused or didn't know the object.
func replied(err error) bool {
	var reply dbus.Error
	return errors.As(err, &reply) && !gone(err)
}

// gone tells whether err means that nobody has the name that was called, or that the bus is closed.
func gone(err error) bool {
	if errors.Is(err, dbus.ErrClosed) {
		return true
	}
	var reply dbus.Error
	if !errors.As(err, &reply) {
		return false
	}
	switch reply.Name {
	case "org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner",
		"org.freedesktop.DBus.Error.Disconnected":
		return true
	}
	return false
}

// unknown tells whether err means that there's no such object: nothing can have been done with it.
func unknown(err error) bool {
	var reply dbus.Error
	return errors.As(err, &reply) && reply.Name == "org.freedesktop.DBus.Error.UnknownObject"
}
