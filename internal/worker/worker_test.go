package worker

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/berth-run/berth/internal/channel"
	"github.com/berth-run/berth/internal/shardproto"
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

// deadman is long enough for whoever is alive to be heard in time, on a machine that is busy, too.
const deadman = 20 * time.Second

func TestDeadMansSwitch(t *testing.T) {
	t.Parallel()
	b := start(t, &fake{}, func(o *Options) { o.Deadman = deadman })
	b.c.Close()
	if err := b.Wait(); !errors.Is(err, ErrSilent) {
		t.Errorf("Wait = %v, want ErrSilent", err)
	}
}

// TestPingsHoldTheDeadMansSwitch: an attached coordinator that has nothing to say isn't silent.
func TestPingsHoldTheDeadMansSwitch(t *testing.T) {
	t.Parallel()
	b := start(t, &fake{}, func(o *Options) { o.Deadman = deadman })
	c, err := channel.Dial(t.Context(), b.open, channel.Options{Timing: channel.Timing{KeepAlive: 50 * time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	select {
	case <-b.ctx.Done():
		t.Errorf("ended: %v", context.Cause(b.ctx))
	case <-time.After(deadman + 2*time.Second): // what is awaited is that nothing happens
	}
}

func TestKeepTurnsTheDeadMansSwitchOff(t *testing.T) {
	t.Parallel()
	b := start(t, &fake{}, func(o *Options) { o.Deadman = deadman })
	if err := b.c.Keep(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.c.Close()
	select {
	case <-b.ctx.Done():
		t.Errorf("ended: %v", context.Cause(b.ctx))
	case <-time.After(deadman + 2*time.Second): // what is awaited is that nothing happens
	}
}
