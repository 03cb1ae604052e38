package worker

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/berth-run/berth/internal/channel"
	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/shardproto"
	"github.com/berth-run/berth/session/client"
)

func TestShutdownEndsTheTrial(t *testing.T) {
	started := make(chan struct{})
	f := &fake{run: untilCancelled(started)}
	b := start(t, f, nil)
	b.collect(shardproto.Bundle{Batches: []shardproto.Batch{batch("a", "one")}})
	b.next() // hello
	b.send(shardproto.Message{Type: shardproto.TypeGranted, Key: b.next().Key})
	<-started
	if err := b.c.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if err := b.Wait(); err != nil {
		t.Errorf("Wait = %v, want nil", err)
	}
	if f.closed != 1 {
		t.Error("the app wasn't closed")
	}
	if _, err := os.Stat(filepath.Join(b.dir, "tokens")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("tokens folder after the end: %v", err)
	}
}

func TestDeadMansSwitch(t *testing.T) {
	b := start(t, &fake{}, func(o *Options) {
		o.Deadman = 200 * time.Millisecond
	})
	b.c.Close()
	if err := b.Wait(); !errors.Is(err, ErrSilent) {
		t.Errorf("Wait = %v, want ErrSilent", err)
	}
}

// TestPingsHoldTheDeadMansSwitch: an attached coordinator that has nothing to say isn't silent.
func TestPingsHoldTheDeadMansSwitch(t *testing.T) {
	b := start(t, &fake{}, func(o *Options) { o.Deadman = time.Second })
	c, err := channel.Dial(t.Context(), b.open, channel.Options{Timing: channel.Timing{KeepAlive: 50 * time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	select {
	case <-b.ctx.Done():
		t.Errorf("ended: %v", context.Cause(b.ctx))
	case <-time.After(1500 * time.Millisecond): // what is awaited is that nothing happens
	}
}

func TestKeepTurnsTheDeadMansSwitchOff(t *testing.T) {
	b := start(t, &fake{}, func(o *Options) { o.Deadman = 300 * time.Millisecond })
	if err := b.c.Keep(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.c.Close()
	select {
	case <-b.ctx.Done():
		t.Errorf("ended: %v", context.Cause(b.ctx))
	case <-time.After(600 * time.Millisecond): // what is awaited is that nothing happens
	}
}

// fakeMemoryEvents gives the kernel's count of kills a place of its own, and the way to set it.
func fakeMemoryEvents(t *testing.T) (write func(kills string)) {
	t.Helper()
	events := filepath.Join(t.TempDir(), "memory.events")
	saved := memoryEvents
	memoryEvents = []string{filepath.Join(t.TempDir(), "absent"), events}
	t.Cleanup(func() { memoryEvents = saved })
	write = func(n string) {
		if err := os.WriteFile(events, []byte("low 0\noom 3\noom_kill "+n+"\noom_group_kill 0\n"), 0o600); err != nil {
			t.Error(err)
		}
	}
	write("1")
	return write
}

// TestOOMKillAtOpen: an app that doesn't fit may be killed before its first trial.
func TestOOMKillAtOpen(t *testing.T) {
	write := fakeMemoryEvents(t)
	f := &fake{opening: func(context.Context) error {
		write("3")
		return code.Errorf(code.AppExited, "the app ended by itself (signal: killed)")
	}}
	b := start(t, f, nil)
	b.collect(shardproto.Bundle{Batches: []shardproto.Batch{batch("a", "one")}})
	b.follow()
	got := b.result("0/0.json").Result
	const want = "the shard's memory limit was hit and 2 process(es) killed; raise it with --runner-option memory= (app_exited: the app ended by itself (signal: killed))"
	if got.FailureCode != code.OOMKilled || got.Error != want || !got.Infrastructure {
		t.Errorf("%s: %s", got.FailureCode, got.Error)
	}
}

func TestOOMKill(t *testing.T) {
	write := fakeMemoryEvents(t)
	tests := map[string]struct {
		kills string
		in    client.Result
		kind  code.Code
		infra bool
		note  any
	}{
		"none":           {"1", client.Result{FailureCode: code.AppExited}, code.AppExited, false, nil},
		"failed by it":   {"2", client.Result{FailureCode: code.AppExited, Error: "gone"}, code.OOMKilled, true, 1},
		"in spite of it": {"3", client.Result{}, "", false, 2},
		"cancelled":      {"2", client.Result{FailureCode: code.Cancelled, Infrastructure: true}, code.Cancelled, true, 1},
	}
	for name, tt := range tests {
		write("1")
		got := (*collection)(nil).watchMemory(func() client.Result { write(tt.kills); return tt.in })
		if got.FailureCode != tt.kind || got.Infrastructure != tt.infra || got.Metadata["oomKills"] != tt.note {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
