package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

var errInterrupted = errors.New("interrupted")

// interruptible gives a context that the first of signals drains (see drained) and the second cancels.
func interruptible(signals <-chan os.Signal) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	drain := make(chan struct{})
	go func() {
		select {
		case <-signals:
			close(drain)
		case <-ctx.Done():
			return
		}
		select {
		case <-signals:
			cancel(errInterrupted)
		case <-ctx.Done():
		}
	}()
	return context.WithValue(ctx, drainKey{}, (<-chan struct{})(drain)), func() { cancel(nil) }
}

type drainKey struct{}

// drained is closed by the first interrupt.
func drained(ctx context.Context) <-chan struct{} {
	d, _ := ctx.Value(drainKey{}).(<-chan struct{})
	return d
}

// announceDrain says what the first interrupt did, until it's stopped.
func announceDrain(c *cobra.Command) (stop func()) {
	ctx, cancel := context.WithCancel(c.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-drained(ctx):
			fmt.Fprintln(c.ErrOrStderr(), "[berth] ending; what has finished is kept. Interrupt once more to end at once.")
		case <-ctx.Done():
		}
	}()
	return func() { cancel(); <-done }
}

// untilInterrupt runs what has nothing to drain: the first interrupt ends it.
func untilInterrupt(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-drained(ctx):
			cancel(errInterrupted)
		case <-ctx.Done():
		}
	}()
	err := do(ctx)
	if err != nil && errors.Is(context.Cause(ctx), errInterrupted) {
		return errInterrupted
	}
	return err
}
