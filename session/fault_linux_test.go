package session_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jezek/xgb"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/session"
	"github.com/berth-run/berth/session/bus"
	"github.com/berth-run/berth/session/keyring"
	"github.com/berth-run/berth/session/sessiontest"
)

// TestServiceKilled: each service, killed, is named as the cause, though it takes others with it.
func TestServiceKilled(t *testing.T) {
	tests := []struct {
		service string
		line    string
		code    code.Code
	}{
		{"display", `^display \(Xvfb\) ended: signal: killed`, code.SessionFailed},
		{"bus", `^bus \(dbus-daemon\) ended: signal: killed`, code.SessionFailed},
		{"keyring", `^keyring \(gnome-keyring-daemon\) ended: signal: killed`, code.KeyringAbsent},
		{"accessibility", `^accessibility \(at-spi-bus-launcher\) ended: signal: killed`, code.SessionFailed},
		{"registry", `^registry \(at-spi2-registryd\) ended: signal: killed`, code.SessionFailed},
		{"windows", `^windows \(openbox\) ended: signal: killed`, code.SessionFailed},
	}
	for _, tt := range tests {
		t.Run(tt.service, func(t *testing.T) {
			cfg := sessiontest.Config(t)
			s := sessiontest.StartConfig(t, cfg)
			if err := syscall.Kill(s.PID(tt.service), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			ended(t, s, tt.service, tt.line)
			if got := code.Of(s.Err()); got != tt.code {
				t.Errorf("code %s, want %s", got, tt.code)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			noneLeft(t, cfg)
		})
	}
}

// TestAccessibilityBusKilled: the launcher's own dbus-daemon isn't a child of ours, and is seen all the
// same.
func TestAccessibilityBusKilled(t *testing.T) {
	s := sessiontest.Start(t)
	if err := syscall.Kill(child(t, s.PID("accessibility"), "dbus-daemon"), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	ended(t, s, "accessibility", `^accessibility \(at-spi-bus-launcher\) ended`)
}

// ended waits for the session's end, and checks its line.
func ended(t *testing.T, s *session.Session, service, line string) {
	t.Helper()
	select {
	case <-s.Done():
	case <-time.After(time.Minute):
		t.Fatal("the session goes on")
	}
	var e *session.ServiceError
	if !errors.As(s.Err(), &e) || e.Service != service || !errors.Is(e, session.ErrEnded) {
		t.Errorf("error %v, want that %s ended", s.Err(), service)
	}
	if !regexp.MustCompile(line).MatchString(s.Err().Error()) || strings.Contains(s.Err().Error(), "\n") {
		t.Errorf("error %q, want %q in one line", s.Err(), line)
	}
}

// child finds a process by its parent and name.
func child(t *testing.T, parent int, name string) int {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range stats {
		stat, _ := os.ReadFile(path)
		pid, rest, _ := strings.Cut(string(stat), " ("+name+") ")
		if fields := strings.Fields(rest); len(fields) > 1 && fields[1] == strconv.Itoa(parent) {
			n, err := strconv.Atoi(pid)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("process %d has no child %s", parent, name)
	return 0
}

// TestKeyringLocked: a keyring that has a password stops the start; nobody is asked.
func TestKeyringLocked(t *testing.T) {
	cfg := sessiontest.Config(t)
	dir := keyring.Dir(filepath.Join(cfg.Home, ".local", "share"))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "login.keyring"), sessiontest.LockedKeyring, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := session.Start(t.Context(), cfg)
	if err == nil {
		s.Close()
	}
	if !errors.Is(err, keyring.ErrLocked) || code.Of(err) != code.KeyringLocked {
		t.Errorf("error %v, want %s", err, code.KeyringLocked)
	}
	if !strings.Contains(err.Error(), "the login keyring has a password") {
		t.Errorf("error %v doesn't say why", err)
	}
	noneLeft(t, cfg)
}

func TestStartFails(t *testing.T) {
	hang := filepath.Join(t.TempDir(), "hang")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, hang); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, service, program string
		err                    error
		code                   code.Code
		line                   string
	}{
		{"keyring absent", "keyring", "/usr/bin/no-such-keyring", session.ErrNotInstalled, code.KeyringAbsent,
			"keyring (no-such-keyring) isn't installed: /usr/bin/no-such-keyring is in the package gnome-keyring"},
		{"window manager absent", "windows", "/usr/bin/no-such-manager", session.ErrNotInstalled, code.SessionFailed,
			"windows (no-such-manager) isn't installed: /usr/bin/no-such-manager is in the package openbox"},
		{"keyring exits", "keyring", "/bin/false", session.ErrEnded, code.KeyringAbsent,
			"keyring (false) ended: exit status 1"},
		{"display exits", "display", "/bin/false", session.ErrEnded, code.SessionFailed,
			"display (false) ended: exit status 1"},
		{"registry never ready", "registry", hang, session.ErrNotReady, code.SessionFailed,
			"registry (hang) isn't ready: after %v; it last said: thinking"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := sessiontest.Config(t)
			if errors.Is(tt.err, session.ErrNotReady) {
				cfg.StartTimeout = unhurried(t)
				tt.line = fmt.Sprintf(tt.line, cfg.StartTimeout)
			}
			s, err := session.StartWith(t.Context(), cfg, tt.service, tt.program)
			if err == nil {
				s.Close()
				t.Fatal("it started")
			}
			if !errors.Is(err, tt.err) || code.Of(err) != tt.code || err.Error() != tt.line {
				t.Errorf("error %q (%s), want %q (%s)", err, code.Of(err), tt.line, tt.code)
			}
			noneLeft(t, cfg)
		})
	}
}

// unhurried is longer than a session takes to start here and now, by one that does.
func unhurried(t *testing.T) time.Duration {
	t.Helper()
	s := sessiontest.Start(t)
	return (5*time.Second + 10*s.Ready().Total()).Round(time.Second)
}

// TestWhole: who was cut off by the end of a service finds that the session isn't whole, whoever has
// noticed it by then.
func TestWhole(t *testing.T) {
	for name, cut := range map[string]func(*testing.T, *session.Session){"display": cutDisplay, "accessibility bus": cutAccessibility} {
		t.Run(name, func(t *testing.T) {
			s := sessiontest.Start(t)
			if !s.Whole() {
				t.Errorf("it isn't whole: %v", s.Err())
			}
			cut(t, s)
			if s.Whole() {
				t.Error("it's whole")
			}
		})
	}
}

// cutDisplay kills the display, and returns when a connection to it has ended.
func cutDisplay(t *testing.T, s *session.Session) {
	t.Helper()
	conn, err := xgb.NewConnDisplay(sessiontest.Getenv(s, "DISPLAY"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := syscall.Kill(s.PID("display"), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if e, err := conn.WaitForEvent(); e != nil || err != nil {
		t.Fatalf("event %v, error %v", e, err)
	}
}

// cutAccessibility is cutDisplay for the accessibility bus.
func cutAccessibility(t *testing.T, s *session.Session) {
	t.Helper()
	conn, err := bus.Connect(t.Context(), sessiontest.Getenv(s, "AT_SPI_BUS_ADDRESS"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := syscall.Kill(child(t, s.PID("accessibility"), "dbus-daemon"), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-conn.Context().Done()
}

// TestDisplayTaken: another server on the display is no display of ours, and stays.
func TestDisplayTaken(t *testing.T) {
	first := sessiontest.Config(t)
	s := sessiontest.StartConfig(t, first)
	second := sessiontest.Config(t)
	second.Display = first.Display
	_, err := session.Start(t.Context(), second)
	var e *session.ServiceError
	if !errors.As(err, &e) || e.Service != "display" || !strings.Contains(err.Error(), "already active") {
		t.Errorf("error %v, want that the display is taken", err)
	}
	noneLeft(t, second)
	if err := s.Err(); err != nil {
		t.Errorf("the first session: %v", err)
	}
}

func TestStartCancelled(t *testing.T) {
	cfg := sessiontest.Config(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("the user went away")
	cancel(gone)
	if _, err := session.Start(ctx, cfg); !errors.Is(err, gone) {
		t.Errorf("error %v, want %v", err, gone)
	}
	noneLeft(t, cfg)
}
