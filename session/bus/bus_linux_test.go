package bus_test

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/berth-run/berth/session/bus"
	"github.com/berth-run/berth/session/sessiontest"
)

const name = "run.berth.Test"

func TestAwaitOwner(t *testing.T) {
	s := sessiontest.Start(t)
	owner := make(chan string, 1)
	go func() {
		got, err := bus.AwaitOwner(t.Context(), s.Bus(), name)
		if err != nil {
			t.Error(err)
		}
		owner <- got
	}()
	conn, err := bus.Connect(t.Context(), sessiontest.Getenv(s, "DBUS_SESSION_BUS_ADDRESS"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if got, err := bus.Owner(t.Context(), conn, name); got != "" || err != nil {
		t.Errorf("owned by %q before it is, error %v", got, err)
	}
	if _, err := conn.RequestName(name, 0); err != nil {
		t.Fatal(err)
	}
	want := conn.Names()[0]
	if got := <-owner; got != want {
		t.Errorf("owner %s, want %s", got, want)
	}
	if got, err := bus.Owner(t.Context(), s.Bus(), name); got != want || err != nil {
		t.Errorf("owner %s, error %v, want %s", got, err, want)
	}
	if got, err := bus.AwaitOwner(t.Context(), s.Bus(), name); got != want || err != nil {
		t.Errorf("of a name that has one: %s, error %v, want %s", got, err, want)
	}
}

func TestAwaitOwnerEnds(t *testing.T) {
	s := sessiontest.Start(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := bus.AwaitOwner(ctx, s.Bus(), name); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	gone := make(chan error, 1)
	go func() {
		_, err := bus.AwaitOwner(t.Context(), s.Bus(), name)
		gone <- err
	}()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-gone; err == nil {
		t.Error("a closed bus gave an owner")
	}
}

// TestConnect: who doesn't answer, or isn't there, takes no longer than the caller allows; and the
// connection outlives the context that it was opened in.
func TestConnect(t *testing.T) {
	s := sessiontest.Start(t)
	ctx, cancel := context.WithCancel(t.Context())
	conn, err := bus.Connect(ctx, sessiontest.Getenv(s, "DBUS_SESSION_BUS_ADDRESS"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	cancel()
	if _, err := bus.Owner(t.Context(), conn, name); err != nil {
		t.Errorf("after the opening's context: %v", err)
	}

	silent := filepath.Join(t.TempDir(), "bus")
	listener, err := net.Listen("unix", silent)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := bus.Connect(ctx, "unix:path="+silent); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a silent bus: error %v", err)
	}
	if _, err := bus.Connect(t.Context(), "unix:path="+silent+"x"); err == nil {
		t.Error("connected to nothing")
	}
}
