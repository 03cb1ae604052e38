package session_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-run/berth/session"
	"github.com/berth-run/berth/session/sessiontest"
)

// TestMain also is the program that starts and never gets ready, under the name "hang".
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "hang" {
		os.Stderr.WriteString("thinking\n")
		time.Sleep(time.Hour)
	}
	os.Exit(m.Run())
}

// left are the command lines of processes that have a session's runtime directory in their environment.
func left(t *testing.T, cfg session.Config) []string {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, dir := range dirs {
		env, err := os.ReadFile(filepath.Join(dir, "environ"))
		if err != nil || !slices.Contains(strings.Split(string(env), "\x00"), "XDG_RUNTIME_DIR="+cfg.RuntimeDir) {
			continue
		}
		if argv, err := os.ReadFile(filepath.Join(dir, "cmdline")); err == nil && len(argv) > 0 {
			found = append(found, string(bytes.ReplaceAll(argv, []byte{0}, []byte{' '})))
		}
	}
	return found
}

func noneLeft(t *testing.T, cfg session.Config) {
	t.Helper()
	if found := left(t, cfg); len(found) > 0 {
		t.Errorf("left:\n%s", strings.Join(found, "\n"))
	}
}

func TestReady(t *testing.T) {
	cfg := sessiontest.Config(t)
	s := sessiontest.StartConfig(t, cfg)
	t.Log(s.Ready())

	ready := map[string]session.Step{}
	for _, step := range s.Ready() {
		ready[step.Name] = step
	}
	for _, name := range session.Names() {
		for _, need := range session.Needs(name) {
			if ready[need].Ready == 0 || ready[name].Start < ready[need].Ready {
				t.Errorf("%s started at %v, but %s was ready at %v", name, ready[name].Start, need, ready[need].Ready)
			}
		}
	}
	raw, err := os.ReadFile(session.ReadyFile(cfg.RuntimeDir))
	if err != nil {
		t.Fatal(err)
	}
	var written session.Timings
	if err := json.Unmarshal(raw, &written); err != nil || !cmp.Equal(written, s.Ready()) {
		t.Errorf("the ready file says %s, error %v", raw, err)
	}
	if err := s.Err(); err != nil {
		t.Errorf("a running session's error is %v", err)
	}
}

func TestEnv(t *testing.T) {
	cfg := sessiontest.Config(t)
	s := sessiontest.StartConfig(t, cfg)
	a11y := sessiontest.Getenv(s, "AT_SPI_BUS_ADDRESS")
	if want := "unix:path=" + cfg.RuntimeDir + "/at-spi/bus"; !strings.HasPrefix(a11y, want) {
		t.Errorf("the accessibility bus is %s, want it at %s", a11y, want)
	}
	want := []string{
		"DISPLAY=:" + strconv.Itoa(cfg.Display),
		"XDG_RUNTIME_DIR=" + cfg.RuntimeDir,
		"DBUS_SESSION_BUS_ADDRESS=unix:path=" + cfg.RuntimeDir + "/bus",
		"GNOME_KEYRING_CONTROL=" + cfg.RuntimeDir + "/keyring",
		"AT_SPI_BUS_ADDRESS=" + a11y,
	}
	if diff := cmp.Diff(want, s.Env()); diff != "" {
		t.Error(diff)
	}
}

// TestCloseLeavesNothing: neither the services, nor what the buses started, nor files that would stop
// the next session.
func TestCloseLeavesNothing(t *testing.T) {
	cfg := sessiontest.Config(t)
	for range 2 {
		s := sessiontest.StartConfig(t, cfg)
		activate(t, s)
		if found := left(t, cfg); len(found) < 7 {
			t.Errorf("only %d processes are seen of a running session: %v", len(found), found)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		noneLeft(t, cfg)
		if !errors.Is(s.Err(), session.ErrClosed) {
			t.Errorf("a closed session's error is %v", s.Err())
		}
		<-s.Done()
	}
	for _, path := range []string{"bus", "at-spi", "keyring", "session/ready"} {
		if _, err := os.Stat(filepath.Join(cfg.RuntimeDir, path)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", path, err)
		}
	}
}

// activate has the session bus start a daemon of its own, one that stays.
func activate(t *testing.T, s *session.Session) {
	t.Helper()
	const prompter = "org.gnome.keyring.SystemPrompter"
	sessiontest.Need(t, "/usr/libexec/gcr-prompter", "gcr")
	err := s.Bus().BusObject().CallWithContext(t.Context(), "org.freedesktop.DBus.StartServiceByName", 0, prompter, uint32(0)).Err
	if err != nil {
		t.Fatal(err)
	}
}
