package worker

import (
	"context"
	"errors"
	"syscall"
	"testing"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/shardproto"
	"github.com/berth-run/berth/session"
	"github.com/berth-run/berth/session/sessiontest"
)

func testDesktop(t *testing.T) *Desktop {
	t.Helper()
	cfg := sessiontest.Config(t)
	d := NewDesktop(func() (session.Config, error) { return cfg, nil })
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// killKeyring kills one of the desktop's services and waits until the desktop is over.
func killKeyring(t *testing.T, s *session.Session) {
	var pid uint32
	call := s.Bus().BusObject().CallWithContext(t.Context(), "org.freedesktop.DBus.GetConnectionUnixProcessID", 0, "org.freedesktop.secrets")
	if err := call.Store(&pid); err != nil {
		t.Error(err)
	}
	if err := syscall.Kill(int(pid), syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	<-s.Done()
}

// TestDesktop: one for all batches, another one after that died, none after the Worker's end.
func TestDesktop(t *testing.T) {
	d := testDesktop(t)
	var got []*session.Session
	f := &fake{opening: func(ctx context.Context) error {
		if len(got) == 2 {
			killKeyring(t, got[1])
		}
		s, err := d.Session(ctx)
		got = append(got, s)
		return err
	}}
	b := start(t, f, func(o *Options) { o.Desktop = d })
	b.collect(shardproto.Bundle{Batches: []shardproto.Batch{batch("a", "one"), batch("b", "two"), batch("c", "three")}})
	all := b.follow()
	done := all[len(all)-1]
	if done.Collected != 3 || done.Cleanup != shardproto.CleanupOK {
		t.Fatalf("done %+v", done)
	}
	if got[0] != got[1] || got[1] == got[2] {
		t.Errorf("desktops %p, want the second to be the first, and the third another one", got)
	}
	first := got[0].Ready()
	if total := milliseconds(first.Total()); done.StepsMs["desktop"] != total || done.StepsMs["desktop.windows"] > total {
		t.Errorf("times %v, want those of %v", done.StepsMs, first)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if !errors.Is(got[2].Err(), session.ErrClosed) {
		t.Errorf("after the worker's end: %v", got[2].Err())
	}
	if _, err := d.Session(t.Context()); !errors.Is(err, errShutdown) {
		t.Errorf("a desktop after the worker's end: %v", err)
	}
}

// TestNoDesktop: a shard that asks for none has none.
func TestNoDesktop(t *testing.T) {
	d := NewDesktop(func() (session.Config, error) { panic("asked for") })
	b := start(t, &fake{}, func(o *Options) { o.Desktop = d })
	b.collect(shardproto.Bundle{Batches: []shardproto.Batch{batch("a", "one")}})
	all := b.follow()
	if done := all[len(all)-1]; done.Collected != 1 || done.StepsMs != nil {
		t.Errorf("done %+v", done)
	}
}

// TestDesktopFails: the trials of the batch that asked for it have the cause, and the next batch asks
// anew.
func TestDesktopFails(t *testing.T) {
	good := sessiontest.Config(t)
	bad := good
	bad.RuntimeDir = "nowhere"
	configs := []session.Config{bad, good}
	d := NewDesktop(func() (c session.Config, err error) {
		c, configs = configs[0], configs[1:]
		return c, nil
	})
	f := &fake{opening: func(ctx context.Context) error {
		_, err := d.Session(ctx)
		return err
	}}
	b := start(t, f, func(o *Options) { o.Desktop = d })
	b.collect(shardproto.Bundle{Batches: []shardproto.Batch{batch("a", "one"), batch("b", "two")}})
	all := b.follow()
	if done := all[len(all)-1]; done.Collected != 1 || done.Infra != 1 {
		t.Errorf("done %+v", done)
	}
	if got := b.result("0/0.json").Result; got.FailureCode != code.EnvironmentInvalid || !got.Infrastructure {
		t.Errorf("the first: %+v", got)
	}
}

// TestShutdownWhileDesktopStarts: the end doesn't wait for a desktop that nobody will use.
func TestShutdownWhileDesktopStarts(t *testing.T) {
	starting := make(chan struct{})
	cfg := sessiontest.Config(t)
	d := NewDesktop(func() (session.Config, error) {
		close(starting)
		return cfg, nil
	})
	f := &fake{opening: func(ctx context.Context) error {
		_, err := d.Session(ctx)
		return err
	}}
	b := start(t, f, func(o *Options) { o.Desktop = d })
	b.collect(shardproto.Bundle{Batches: []shardproto.Batch{batch("a", "one")}})
	<-starting
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if d.now != nil {
		t.Error("a desktop is left")
	}
}
