package containerd

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"

	"github.com/containerd/containerd/v2/core/leases"
)

// How often the engine is made to collect, where it has to make room first, and how long it is left alone
// before it's tried again.
const (
	collections  = 5
	collectAfter = 200 * time.Millisecond
)

// collectAgain has the engine take away what a full disk has kept it from taking away with a lease. It takes
// blobs away while it notes on that very disk which snapshots are gone, and it comes back to one that it couldn't
// note only when another goes. So another one goes.
func (b *Backend) collectAgain(ctx context.Context) {
	ctx, cancel := unhurried(ctx)
	defer cancel()
	for range collections {
		if b.removeSnapshot(ctx) == nil {
			return
		}
		select {
		case <-time.After(collectAfter):
		case <-ctx.Done():
			return
		}
	}
}

// removeSnapshot makes an empty snapshot and removes it, which the engine does before it returns.
func (b *Backend) removeSnapshot(ctx context.Context) error {
	m := b.LeasesService()
	l, err := m.Create(ctx, leases.WithRandomID(), leases.WithExpiration(leaseTime))
	if err != nil {
		return err
	}
	leased, key := leases.WithLease(ctx, l.ID), "berth-"+strings.ToLower(rand.Text())
	sn := b.SnapshotService(b.snapshotter)
	if _, err = sn.Prepare(leased, key, ""); err == nil {
		err = sn.Remove(leased, key)
	}
	return errors.Join(err, m.Delete(ctx, l, leases.SynchronousDelete))
}
