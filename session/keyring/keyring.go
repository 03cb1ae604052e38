package keyring

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/session/bus"
)

// Names of the Secret Service (freedesktop.org, Secret Service API 0.2).
const (
	Name = "org.freedesktop.secrets"

	servicePath = dbus.ObjectPath("/org/freedesktop/secrets")
	login       = dbus.ObjectPath("/org/freedesktop/secrets/collection/login")
	service     = "org.freedesktop.Secret.Service"
	collection  = "org.freedesktop.Secret.Collection"
	item        = "org.freedesktop.Secret.Item"

	unknownService = "org.freedesktop.DBus.Error.ServiceUnknown"

	// none is how a method says that there's no such object, or no prompt.
	none = dbus.ObjectPath("/")
)

// prompters own one of these names while a dialog asks for a password (gcr's prompter).
var prompters = []string{"org.gnome.keyring.SystemPrompter", "org.gnome.keyring.PrivatePrompter"}

// Open waits for the Secret Service, unlocks the login keyring and proves it by a write and a read. A
// keyring that wants a password is ErrLocked; nothing is asked on screen.
func Open(ctx context.Context, conn *dbus.Conn) error {
	if _, err := bus.AwaitOwner(ctx, conn, Name); err != nil {
		return code.Errorf(code.KeyringAbsent, "no Secret Service on the session bus: %w", err)
	}
	if err := greet(ctx, conn); err != nil {
		return err
	}
	if err := unlock(ctx, conn); err != nil {
		return err
	}
	if err := Check(ctx, conn); err != nil {
		return err
	}
	return prove(ctx, conn)
}

// greet waits until the daemon knows the caller. gnome-keyring-daemon has its name before it can tell
// its callers apart: a call from those first moments is answered as if there were no keyring at all
// (its "assertion 'client' failed"), or no such method. Who is known sees the session's collection at
// least, which always exists.
func greet(ctx context.Context, conn *dbus.Conn) error {
	const again = time.Millisecond // there is no signal for it
	for {
		var list dbus.Variant
		err := call(ctx, conn, servicePath, "org.freedesktop.DBus.Properties.Get", service, "Collections").Store(&list)
		if known, _ := list.Value().([]dbus.ObjectPath); len(known) > 0 {
			return nil
		}
		if err != nil && !early(err) {
			return failed("greeting the keyring", err)
		}
		select {
		case <-time.After(again):
		case <-ctx.Done():
			return failed("greeting the keyring", context.Cause(ctx))
		}
	}
}

// early tells the errors of a daemon that hasn't put up its objects yet.
func early(err error) bool {
	var reply dbus.Error
	return errors.As(err, &reply) && reply.Name != unknownService &&
		strings.HasPrefix(reply.Name, "org.freedesktop.DBus.Error.Unknown")
}

// Check tells whether an app would get at its secrets now: the service is there (else ErrAbsent), the
// default keyring is the login keyring, it isn't locked, and no prompter is on screen (else ErrLocked).
// It changes nothing, so that it can be asked at any time, such as when an app doesn't come up.
func Check(ctx context.Context, conn *dbus.Conn) error {
	for _, name := range prompters {
		owner, err := bus.Owner(ctx, conn, name)
		if err != nil {
			return failed("looking for a prompter", err)
		}
		if owner != "" {
			return code.Errorf(code.KeyringLocked, "a prompter (%s) asks for a password on screen, where nobody answers", name)
		}
	}
	if err := checkDefault(ctx, conn); err != nil {
		return err
	}
	var locked dbus.Variant
	err := call(ctx, conn, login, "org.freedesktop.DBus.Properties.Get", collection, "Locked").Store(&locked)
	if err != nil {
		return failed("reading the keyring's lock", err)
	}
	if locked.Value() != false {
		return code.Errorf(code.KeyringLocked, "the login keyring is locked")
	}
	return nil
}

// checkDefault: an app asks for the default keyring, and is asked for the password of a new one when
// there is none.
func checkDefault(ctx context.Context, conn *dbus.Conn) error {
	var alias dbus.ObjectPath
	if err := call(ctx, conn, servicePath, service+".ReadAlias", "default").Store(&alias); err != nil {
		return failed("asking for the default keyring", err)
	}
	if alias != login {
		return code.Errorf(code.KeyringLocked, "the default keyring is %s, not the login keyring", alias)
	}
	return nil
}

func unlock(ctx context.Context, conn *dbus.Conn) error {
	var unlocked []dbus.ObjectPath
	var prompt dbus.ObjectPath
	err := call(ctx, conn, servicePath, service+".Unlock", []dbus.ObjectPath{login}).Store(&unlocked, &prompt)
	switch {
	case err != nil:
		return failed("unlocking the keyring", err)
	case prompt != none:
		return code.Errorf(code.KeyringLocked, "the login keyring has a password: it wants to ask for it")
	case !slices.Contains(unlocked, login):
		return code.Errorf(code.KeyringLocked, "there is no login keyring")
	}
	return nil
}

// call never starts a service: an absent keyring is to be seen, and not hidden by another one.
func call(ctx context.Context, conn *dbus.Conn, path dbus.ObjectPath, method string, args ...any) *dbus.Call {
	return conn.Object(Name, path).CallWithContext(ctx, method, dbus.FlagNoAutoStart, args...)
}

// failed gives a D-Bus error the code that it stands for; nil stays nil.
func failed(doing string, err error) error {
	if err == nil {
		return nil
	}
	var reply dbus.Error
	if !errors.As(err, &reply) {
		return code.Errorf(code.KeyringAbsent, "%s: %w", doing, err)
	}
	switch reply.Name {
	case unknownService, "org.freedesktop.DBus.Error.NameHasNoOwner",
		"org.freedesktop.DBus.Error.NoReply":
		return code.Errorf(code.KeyringAbsent, "%s: no Secret Service on the session bus: %w", doing, err)
	default:
		return code.Errorf(code.KeyringLocked, "%s: %w", doing, err)
	}
}
