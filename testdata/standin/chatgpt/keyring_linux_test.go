package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/berth-run/berth/session/client/process"
	"github.com/berth-run/berth/session/keyring"
	"github.com/berth-run/berth/session/sessiontest"
)

// ownBus gives the app a session bus that has no keyring.
func (r *rig) ownBus() string {
	r.t.Helper()
	address := "unix:path=" + filepath.Join(r.home, "bus")
	r.run("/usr/bin/dbus-daemon", "--session", "--address="+address, "--nofork", "--nopidfile")
	r.poll("a bus", func() bool {
		conn, err := dbus.Connect(address)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	r.extra = append(r.extra, "DBUS_SESSION_BUS_ADDRESS="+address)
	return address
}

// startKeyring starts a daemon on the app's bus, with what is below its home.
func (r *rig) startKeyring() {
	r.t.Helper()
	r.run("/usr/bin/gnome-keyring-daemon", "--foreground", "--components=secrets", "--control-directory="+r.home)
}

// run runs a program in the app's environment until the test's end.
func (r *rig) run(path string, args ...string) {
	r.t.Helper()
	p, err := process.Start(process.Spec{Path: path, Args: args, Dir: r.home, Env: r.env()})
	must(r.t, err)
	r.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		must(r.t, p.End(ctx))
	})
}

func (r *rig) keyrings() string { return filepath.Join(r.home, ".local", "share") }

func (r *rig) inTheWay(what string) {
	r.t.Helper()
	r.poll(what, func() bool {
		return slices.ContainsFunc(r.lines("keyring"), func(l line) bool { return strings.Contains(l.Text, what) })
	})
	if got := r.screens(); len(got) > 0 {
		r.t.Errorf("shown %q", got)
	}
}

// The splash goes when there is a keyring.
func TestKeyringAbsent(t *testing.T) {
	r := newRig(t, desk(t))
	r.ownBus()
	r.start(`{}`)
	r.inTheWay("org.freedesktop.secrets")
	must(t, keyring.Write(r.keyrings()))
	r.startKeyring()
	r.awaitScreens("main")
}

// The splash stays while the keyring is locked, and somebody is asked for its password.
func TestKeyringLocked(t *testing.T) {
	sessiontest.Need(t, "/usr/libexec/gcr-prompter", "gcr")
	r := newRig(t, desk(t))
	address := r.ownBus()
	must(t, keyring.Write(r.keyrings()))
	must(t, os.WriteFile(filepath.Join(keyring.Dir(r.keyrings()), "login.keyring"), sessiontest.LockedKeyring, 0o600))
	r.startKeyring()
	r.start(`{}`)
	r.inTheWay("the keyring is locked")
	conn, err := dbus.Connect(address)
	must(t, err)
	t.Cleanup(func() { conn.Close() })
	r.poll("the prompter", func() bool {
		var there bool
		err := conn.BusObject().Call("org.freedesktop.DBus.NameHasOwner", 0, "org.gnome.keyring.SystemPrompter").Store(&there)
		return err == nil && there
	})
	if got := r.screens(); len(got) > 0 {
		t.Errorf("shown %q", got)
	}
}
