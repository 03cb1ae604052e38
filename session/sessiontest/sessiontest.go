// Package sessiontest brings real sessions up for tests, each with a display, a runtime directory and
// a home of its own, so that they run side by side with each other and with the user's own desktop.
package sessiontest

import (
	_ "embed"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/berth-run/berth/session"
)

// programs are a session's, and the Debian packages that have them.
var programs = map[string]string{
	"/usr/bin/Xvfb":                  "xvfb",
	"/usr/bin/dbus-daemon":           "dbus-daemon",
	"/usr/bin/gnome-keyring-daemon":  "gnome-keyring",
	"/usr/libexec/at-spi2-registryd": "at-spi2-core",
	"/usr/bin/openbox":               "openbox",
}

// LockedKeyring is a login.keyring that has a password, as gnome-keyring-daemon made it.
//
//go:embed locked.keyring
var LockedKeyring []byte

// Config gives a session of its own. It skips the test where the programs are missing.
func Config(t testing.TB) session.Config {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a desktop")
	}
	for path, pkg := range programs {
		Need(t, path, pkg)
	}
	return session.Config{
		Display:    display(t),
		RuntimeDir: folder(t),
		Home:       folder(t),
	}
}

// Need skips the test unless a program is there.
func Need(t testing.TB, path, pkg string) {
	t.Helper()
	if _, err := os.Stat(path); err != nil {
		t.Skipf("%s is missing: apt-get install --no-install-recommends %s", path, pkg)
	}
}

// Start brings a session up, and proves at the test's end that nothing of it is left.
func Start(t testing.TB) *session.Session {
	t.Helper()
	return StartConfig(t, Config(t))
}

// StartConfig is Start with a Config that the test has changed.
func StartConfig(t testing.TB, cfg session.Config) *session.Session {
	t.Helper()
	s, err := session.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// Getenv gives a variable of a session's environment.
func Getenv(s *session.Session, name string) string {
	for _, kv := range s.Env() {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}
	return ""
}

// folder is a private folder with a short path, as sockets want one.
func folder(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "berth")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// display takes a number that no other test has, by a lock that the test's process holds.
func display(t testing.TB) int {
	t.Helper()
	for n := 1000; n < 2000; n++ {
		if _, err := os.Stat(fmt.Sprintf("/tmp/.X11-unix/X%d", n)); err == nil {
			continue
		}
		if lock(t, fmt.Sprintf("/tmp/.berth-display-%d", n)) {
			return n
		}
	}
	t.Fatal("no display number is free")
	return 0
}
