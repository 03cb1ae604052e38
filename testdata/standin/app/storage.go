package app

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/godbus/dbus/v5"
)

// The Secret Service (freedesktop.org, Secret Service API 0.2).
const (
	secrets    = "org.freedesktop.secrets"
	secretRoot = dbus.ObjectPath("/org/freedesktop/secrets")
	service    = "org.freedesktop.Secret.Service"
	collection = dbus.ObjectPath("/org/freedesktop/secrets/aliases/default")
	noPrompt   = dbus.ObjectPath("/")
)

var errLocked = errors.New("the keyring is locked")

// storageRetry is how long openStorage waits before it looks again at a keyring that isn't there.
const storageRetry = 250 * time.Millisecond

// openStorage returns when the app's key is in the keyring and has been read back. A keyring that is
// locked asks its user for the password, once; one that isn't there may come.
func openStorage(ctx context.Context) error {
	asked := false
	for {
		err := storeKey(ctx, &asked)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		case <-time.After(storageRetry):
		}
	}
}

// storeKey does it once, on a connection of its own.
func storeKey(ctx context.Context, asked *bool) error {
	conn, err := dbus.ConnectSessionBus(dbus.WithContext(ctx))
	if err != nil {
		return err
	}
	defer conn.Close()
	root := conn.Object(secrets, secretRoot)
	var output dbus.Variant
	var session dbus.ObjectPath
	if err := root.CallWithContext(ctx, service+".OpenSession", 0, "plain", dbus.MakeVariant("")).Store(&output, &session); err != nil {
		return err
	}
	if err := unlock(ctx, conn, asked); err != nil {
		return err
	}
	return writeAndRead(ctx, conn, session)
}

// unlock asks for the password when the keyring wants it, and waits until that was answered.
func unlock(ctx context.Context, conn *dbus.Conn, asked *bool) error {
	var unlocked []dbus.ObjectPath
	var prompt dbus.ObjectPath
	err := conn.Object(secrets, secretRoot).CallWithContext(ctx, service+".Unlock", 0, []dbus.ObjectPath{collection}).Store(&unlocked, &prompt)
	if err != nil {
		return err
	}
	if prompt == noPrompt {
		return nil
	}
	if *asked {
		return errLocked
	}
	*asked = true
	if err := conn.AddMatchSignalContext(ctx, dbus.WithMatchObjectPath(prompt)); err != nil {
		return err
	}
	answers := make(chan *dbus.Signal, 1)
	conn.Signal(answers)
	if err := conn.Object(secrets, prompt).CallWithContext(ctx, "org.freedesktop.Secret.Prompt.Prompt", 0, "").Err; err != nil {
		return err
	}
	select {
	case <-answers:
		return errLocked // to be looked at again
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// secret is the Secret Service's struct (oayays).
type secret struct {
	Session     dbus.ObjectPath
	Parameters  []byte
	Value       []byte
	ContentType string
}

func writeAndRead(ctx context.Context, conn *dbus.Conn, session dbus.ObjectPath) error {
	const item = "org.freedesktop.Secret.Item"
	key := secret{Session: session, Parameters: []byte{}, Value: []byte(rand.Text()), ContentType: "text/plain"}
	properties := map[string]dbus.Variant{
		item + ".Label":      dbus.MakeVariant("ChatGPT Safe Storage"),
		item + ".Attributes": dbus.MakeVariant(map[string]string{"application": "chatgpt"}),
	}
	var path, prompt dbus.ObjectPath
	create := conn.Object(secrets, collection).CallWithContext(ctx, "org.freedesktop.Secret.Collection.CreateItem", 0, properties, key, true)
	if err := create.Store(&path, &prompt); err != nil {
		return err
	}
	if prompt != noPrompt {
		return errLocked
	}
	var got secret
	if err := conn.Object(secrets, path).CallWithContext(ctx, item+".GetSecret", 0, session).Store(&got); err != nil {
		return err
	}
	if !bytes.Equal(got.Value, key.Value) {
		return errors.New("the keyring gave back another key")
	}
	return nil
}
