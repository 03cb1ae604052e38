package keyring

import (
	"bytes"
	"context"
	"crypto/rand"

	"github.com/godbus/dbus/v5"

	"github.com/berth-run/berth/internal/code"
)

// secret is the Secret Service's struct (oayays).
type secret struct {
	Session     dbus.ObjectPath
	Parameters  []byte
	Value       []byte
	ContentType string
}

// prove stores a secret, reads it back and removes it.
func prove(ctx context.Context, conn *dbus.Conn) error {
	session, err := openSession(ctx, conn)
	if err != nil {
		return err
	}
	defer call(ctx, conn, session, "org.freedesktop.Secret.Session.Close")

	want := []byte(rand.Text())
	path, err := create(ctx, conn, secret{Session: session, Parameters: []byte{}, Value: want, ContentType: "text/plain"})
	if err != nil {
		return err
	}
	var got secret
	if err := call(ctx, conn, path, item+".GetSecret", session).Store(&got); err != nil {
		return failed("reading from the keyring", err)
	}
	if !bytes.Equal(got.Value, want) {
		return code.Errorf(code.KeyringLocked, "the keyring gave back %d other bytes than were written", len(got.Value))
	}
	return remove(ctx, conn, path)
}

// openSession opens one in which secrets travel as they are: the bus is private to the user.
func openSession(ctx context.Context, conn *dbus.Conn) (dbus.ObjectPath, error) {
	var output dbus.Variant
	var session dbus.ObjectPath
	err := call(ctx, conn, servicePath, service+".OpenSession", "plain", dbus.MakeVariant("")).Store(&output, &session)
	if err != nil {
		return "", failed("opening a session with the keyring", err)
	}
	return session, nil
}

func create(ctx context.Context, conn *dbus.Conn, s secret) (dbus.ObjectPath, error) {
	properties := map[string]dbus.Variant{
		item + ".Label":      dbus.MakeVariant("berth"),
		item + ".Attributes": dbus.MakeVariant(map[string]string{"application": "berth"}),
	}
	var path, prompt dbus.ObjectPath
	err := call(ctx, conn, login, collection+".CreateItem", properties, s, true).Store(&path, &prompt)
	if err != nil {
		return "", failed("writing to the keyring", err)
	}
	if prompt != none {
		return "", code.Errorf(code.KeyringLocked, "writing to the keyring wants to ask for a password")
	}
	return path, nil
}

func remove(ctx context.Context, conn *dbus.Conn, path dbus.ObjectPath) error {
	var prompt dbus.ObjectPath
	if err := call(ctx, conn, path, item+".Delete").Store(&prompt); err != nil {
		return failed("removing from the keyring", err)
	}
	if prompt != none {
		return code.Errorf(code.KeyringLocked, "removing from the keyring wants to ask for a password")
	}
	return nil
}

// Clear removes every secret of the login keyring, so that the next app finds a fresh one: the profile
// of an app is new for each variant, and what it has in the keyring belongs to its profile.
func Clear(ctx context.Context, conn *dbus.Conn) error {
	var items dbus.Variant
	err := call(ctx, conn, login, "org.freedesktop.DBus.Properties.Get", collection, "Items").Store(&items)
	if err != nil {
		return failed("listing the keyring", err)
	}
	paths, _ := items.Value().([]dbus.ObjectPath)
	for _, path := range paths {
		if err := remove(ctx, conn, path); err != nil {
			return err
		}
	}
	return nil
}
