package keyring_test

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/berth-run/berth/session"
	"github.com/berth-run/berth/session/bus"
	"github.com/berth-run/berth/session/client/process"
	"github.com/berth-run/berth/session/keyring"
	"github.com/berth-run/berth/session/sessiontest"
)

const (
	servicePath = "/org/freedesktop/secrets"
	login       = dbus.ObjectPath("/org/freedesktop/secrets/collection/login")
)

// secretTool is libsecret's, which nobody here wrote.
func secretTool(t *testing.T, s *session.Session, stdin string, args ...string) (string, error) {
	t.Helper()
	sessiontest.Need(t, "/usr/bin/secret-tool", "libsecret-tools")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/usr/bin/secret-tool", args...)
	cmd.Env = s.Env()
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.Output()
	return string(out), err
}

func call(t *testing.T, s *session.Session, path dbus.ObjectPath, method string, args ...any) *dbus.Call {
	t.Helper()
	c := s.Bus().Object(keyring.Name, path).CallWithContext(t.Context(), "org.freedesktop.Secret."+method, 0, args...)
	if c.Err != nil {
		t.Fatal(c.Err)
	}
	return c
}

func TestOpen(t *testing.T) {
	s := sessiontest.Start(t)
	if err := keyring.Check(t.Context(), s.Bus()); err != nil {
		t.Errorf("after the start: %v", err)
	}
	if _, err := secretTool(t, s, "ein Geheimnis", "store", "--label=test", "app", "one"); err != nil {
		t.Fatal(err)
	}
	if got, err := secretTool(t, s, "", "lookup", "app", "one"); err != nil || got != "ein Geheimnis" {
		t.Errorf("read back %q, error %v", got, err)
	}

	// Locked, it says so; opened again, the secrets are still there, and the proof has left none.
	call(t, s, servicePath, "Service.Lock", []dbus.ObjectPath{login})
	if err := keyring.Check(t.Context(), s.Bus()); !errors.Is(err, keyring.ErrLocked) {
		t.Errorf("after Lock: %v", err)
	}
	if err := keyring.Open(t.Context(), s.Bus()); err != nil {
		t.Fatal(err)
	}
	if got := items(t, s); got != 1 {
		t.Errorf("%d secrets, want 1", got)
	}
}

func TestClear(t *testing.T) {
	s := sessiontest.Start(t)
	for _, app := range []string{"one", "two"} {
		if _, err := secretTool(t, s, app, "store", "--label="+app, "app", app); err != nil {
			t.Fatal(err)
		}
	}
	if got := items(t, s); got != 2 {
		t.Fatalf("%d secrets, want 2", got)
	}
	if err := keyring.Clear(t.Context(), s.Bus()); err != nil {
		t.Fatal(err)
	}
	if got := items(t, s); got != 0 {
		t.Errorf("%d secrets are left", got)
	}
}

func items(t *testing.T, s *session.Session) int {
	t.Helper()
	v, err := s.Bus().Object(keyring.Name, login).GetProperty("org.freedesktop.Secret.Collection.Items")
	if err != nil {
		t.Fatal(err)
	}
	return len(v.Value().([]dbus.ObjectPath))
}

// TestPrompter: an app that makes a new keyring has its password asked for on screen.
func TestPrompter(t *testing.T) {
	s := sessiontest.Start(t)
	sessiontest.Need(t, "/usr/libexec/gcr-prompter", "gcr")
	var collection, prompt dbus.ObjectPath
	label := map[string]dbus.Variant{"org.freedesktop.Secret.Collection.Label": dbus.MakeVariant("another")}
	if err := call(t, s, servicePath, "Service.CreateCollection", label, "").Store(&collection, &prompt); err != nil {
		t.Fatal(err)
	}
	call(t, s, prompt, "Prompt.Prompt", "")
	if _, err := bus.AwaitOwner(t.Context(), s.Bus(), "org.gnome.keyring.SystemPrompter"); err != nil {
		t.Fatal(err)
	}
	if err := keyring.Check(t.Context(), s.Bus()); !errors.Is(err, keyring.ErrLocked) || !strings.Contains(err.Error(), "prompter") {
		t.Errorf("error %v, want that a prompter asks", err)
	}
}

// lone starts a bus that has nobody on it, and a keyring daemon over home if there is one.
func lone(t *testing.T, home string) *dbus.Conn {
	t.Helper()
	cfg := sessiontest.Config(t)
	env := []string{"HOME=" + home, "XDG_RUNTIME_DIR=" + cfg.RuntimeDir, "PATH=/usr/bin:/bin"}
	address := "unix:path=" + filepath.Join(cfg.RuntimeDir, "bus")
	daemon := run(t, process.Spec{Path: "/usr/bin/dbus-daemon", Env: env,
		Args: []string{"--session", "--address=" + address, "--print-address=1", "--nofork", "--nopidfile"}})
	if _, err := bufio.NewReader(daemon.Stdout).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	conn, err := bus.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if home != "" {
		run(t, process.Spec{Path: "/usr/bin/gnome-keyring-daemon", Env: append(env, "DBUS_SESSION_BUS_ADDRESS="+address),
			Args: []string{"--foreground", "--components=secrets", "--control-directory=" + filepath.Join(cfg.RuntimeDir, "keyring")}})
	}
	return conn
}

func run(t *testing.T, spec process.Spec) *process.Process {
	t.Helper()
	p, err := process.Start(spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.End(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return p
}

// TestOpenAtOnce: the daemon has its name before it knows its callers, and then says that there's no
// keyring. That's a matter of a moment, so it's tried often.
func TestOpenAtOnce(t *testing.T) {
	for i := range 25 {
		home := t.TempDir()
		if err := keyring.Write(filepath.Join(home, ".local", "share")); err != nil {
			t.Fatal(err)
		}
		if err := keyring.Open(t.Context(), lone(t, home)); err != nil {
			t.Fatalf("start %d: %v", i, err)
		}
	}
}

func TestAbsent(t *testing.T) {
	conn := lone(t, "")
	if err := keyring.Check(t.Context(), conn); !errors.Is(err, keyring.ErrAbsent) {
		t.Errorf("Check: %v", err)
	}
	if err := keyring.Clear(t.Context(), conn); !errors.Is(err, keyring.ErrAbsent) {
		t.Errorf("Clear: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := keyring.Open(ctx, conn); !errors.Is(err, keyring.ErrAbsent) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Open: %v", err)
	}
	if owner, err := bus.Owner(t.Context(), conn, keyring.Name); owner != "" || err != nil {
		t.Errorf("the calls started a keyring, %s; error %v", owner, err)
	}
	conn.Close()
	if err := keyring.Check(t.Context(), conn); !errors.Is(err, keyring.ErrAbsent) {
		t.Errorf("on a closed bus: %v", err)
	}
}

// TestOtherKeyrings: what an app wouldn't get at without being asked.
func TestOtherKeyrings(t *testing.T) {
	tests := []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"none", nil, "there is no login keyring"},
		{"password", map[string]string{"login.keyring": string(sessiontest.LockedKeyring), "default": "login"}, "has a password"},
		{"another default", map[string]string{
			"login.keyring": "[keyring]\ndisplay-name=login\n", "default": "other",
			"other.keyring": "[keyring]\ndisplay-name=other\n",
		}, "the default keyring is /org/freedesktop/secrets/collection/other"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			home := t.TempDir()
			dir := keyring.Dir(filepath.Join(home, ".local", "share"))
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			for name, text := range tt.files {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			err := keyring.Open(t.Context(), lone(t, home))
			if !errors.Is(err, keyring.ErrLocked) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}
