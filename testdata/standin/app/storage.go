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

// storageRetry is how long openStorage waits before it looks again at a keyring that is locked or
// isn't there.
const storageRetry = 250 * time.Millisecond

// openStorage returns when the app's key is in the default keyring and has been read back. tell gets
// what is in the way, when that changes. A keyring that is locked, or none at all, has the user asked
// once; then whoever opens it may.
func openStorage(ctx context.Context, tell func(error)) error {
	k := &keyring{}
	defer k.close()
	last := ""
	for {
		err := k.store(ctx)
		if err == nil {
			return nil
		}
		if err.Error() != last {
			last = err.Error()
			tell(err)
		}
		if !errors.Is(err, errLocked) {
			k.close() // there may be another daemon soon
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(storageRetry):
		}
	}
}

// The Secret Service (freedesktop.org, Secret Service API 0.2).
const (
	service    = "org.freedesktop.Secret.Service"
	collection = "org.freedesktop.Secret.Collection"
	item       = "org.freedesktop.Secret.Item"

	root = dbus.ObjectPath("/org/freedesktop/secrets")
	none = dbus.ObjectPath("/")
)

var errLocked = errors.New("the keyring is locked")

// keyring is a connection to the Secret Service. What the user is asked goes when it's closed.
type keyring struct {
	conn    *dbus.Conn
	session dbus.ObjectPath
	asked   bool
}

func (k *keyring) close() {
	if k.conn != nil {
		k.conn.Close()
	}
	*k = keyring{}
}

// call asks an object of the service for something. A keyring that isn't there isn't started.
func (k *keyring) call(ctx context.Context, path dbus.ObjectPath, method string, args ...any) *dbus.Call {
	return k.conn.Object("org.freedesktop.secrets", path).CallWithContext(ctx, method, dbus.FlagNoAutoStart, args...)
}

func (k *keyring) open(ctx context.Context) error {
	conn, err := dbus.ConnectSessionBus(dbus.WithContext(ctx))
	if err != nil {
		return fmt.Errorf("no session bus: %w", err)
	}
	k.conn = conn
	var output dbus.Variant
	return k.call(ctx, root, service+".OpenSession", "plain", dbus.MakeVariant("")).Store(&output, &k.session)
}

// store writes the app's key and reads it.
func (k *keyring) store(ctx context.Context) error {
	if k.conn == nil {
		if err := k.open(ctx); err != nil {
			return err
		}
	}
	var keys dbus.ObjectPath
	if err := k.call(ctx, root, service+".ReadAlias", "default").Store(&keys); err != nil {
		return err
	}
	if err := k.unlock(ctx, keys); err != nil {
		return err
	}
	return k.writeAndRead(ctx, keys)
}

// lockStorage locks the default keyring, so that its user would be asked.
func lockStorage(ctx context.Context) error {
	k := &keyring{}
	defer k.close()
	if err := k.open(ctx); err != nil {
		return err
	}
	var keys dbus.ObjectPath
	if err := k.call(ctx, root, service+".ReadAlias", "default").Store(&keys); err != nil {
		return err
	}
	return k.call(ctx, root, service+".Lock", []dbus.ObjectPath{keys}).Err
}

// unlock opens a collection, or has the user asked for its password, or for that of a first one.
func (k *keyring) unlock(ctx context.Context, keys dbus.ObjectPath) error {
	if keys != none {
		var locked bool
		if err := k.call(ctx, keys, "org.freedesktop.DBus.Properties.Get", collection, "Locked").Store(&locked); err != nil || !locked {
			return err
		}
	}
	if k.asked {
		return errLocked
	}
	var prompt dbus.ObjectPath
	var err error
	if keys == none {
		label := map[string]dbus.Variant{collection + ".Label": dbus.MakeVariant("Default keyring")}
		err = k.call(ctx, root, service+".CreateCollection", label, "default").Store(&keys, &prompt)
	} else {
		var unlocked []dbus.ObjectPath
		err = k.call(ctx, root, service+".Unlock", []dbus.ObjectPath{keys}).Store(&unlocked, &prompt)
	}
	if err != nil || prompt == none {
		return err
	}
	k.asked = true
	if err := k.call(ctx, prompt, "org.freedesktop.Secret.Prompt.Prompt", "").Err; err != nil {
		return err
	}
	return errLocked
}

// secret is the Secret Service's struct (oayays).
type secret struct {
	Session     dbus.ObjectPath
	Parameters  []byte
	Value       []byte
	ContentType string
}

func (k *keyring) writeAndRead(ctx context.Context, keys dbus.ObjectPath) error {
	key := secret{Session: k.session, Parameters: []byte{}, Value: []byte(rand.Text()), ContentType: "text/plain"}
	properties := map[string]dbus.Variant{
		item + ".Label":      dbus.MakeVariant("ChatGPT Safe Storage"),
		item + ".Attributes": dbus.MakeVariant(map[string]string{"application": "chatgpt"}),
	}
	var path, prompt dbus.ObjectPath
	if err := k.call(ctx, keys, collection+".CreateItem", properties, key, true).Store(&path, &prompt); err != nil {
		return err
	}
	if prompt != none {
		return errLocked
	}
	var got secret
	if err := k.call(ctx, path, item+".GetSecret", k.session).Store(&got); err != nil {
		return err
	}
	if !bytes.Equal(got.Value, key.Value) {
		return errors.New("the keyring gave back another key")
	}
	return nil
}
