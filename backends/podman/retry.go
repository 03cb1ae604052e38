package podman

import (
	"context"
	"time"
)

const (
	firstRetry = 20 * time.Millisecond
	lastRetry  = time.Second
	retries    = 10
)

// isLocked tells that Podman's database was locked by another of its processes for too long.
func isLocked(err error) bool { return says(err, "database is locked") }

// retryLocked repeats f while the database is locked: nothing was done then (podman#20809). The start
// of an exec isn't for it: that may have run what it couldn't note.
func retryLocked(ctx context.Context, f func() error) error {
	wait := firstRetry
	for i := 0; ; i++ {
		err := f()
		if err == nil || i == retries || !isLocked(err) {
			return err
		}
		if err := sleep(ctx, wait); err != nil {
			return err
		}
		wait = min(2*wait, lastRetry)
	}
}

// sleep waits for d or the end of ctx, whose cause it gives.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
