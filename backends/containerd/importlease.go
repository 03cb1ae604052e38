package containerd

import (
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"strings"
	"time"

	"github.com/containerd/containerd/v2/core/leases"
	"github.com/containerd/errdefs"

	"github.com/berth-run/berth/internal/owner"
)

// importTime is for an import whose maker died where nobody can tell; then the engine's garbage collector
// takes what it left. That goes by the wall clock: it's long enough for one that is set by a day.
const importTime = 48 * time.Hour

// labelImport has the name that is to be given to what an import's lease holds.
const labelImport = labelPrefix + "import"

// importLease makes a lease for what is under way, which says who made it; done ends it, and takes with it
// what nothing else holds.
func (b *Backend) importLease(ctx context.Context, ref string) (_ context.Context, done func(), err error) {
	self, err := owner.Self()
	if err != nil {
		return ctx, nil, err
	}
	labels := owner.Shard{Created: time.Now(), Owner: self}.Labels()
	maps.DeleteFunc(labels, func(_, v string) bool { return v == "" })
	labels[labelImport] = ref
	m := b.LeasesService()
	l, err := m.Create(ctx, leases.WithID("berth-"+strings.ToLower(rand.Text())), leases.WithLabels(labels), leases.WithExpiration(importTime))
	if err != nil {
		return ctx, nil, explain(err)
	}
	return leases.WithLease(ctx, l.ID), func() {
		ctx, cancel := unhurried(ctx)
		defer cancel()
		_ = m.Delete(ctx, l, leases.SynchronousDelete) // else it expires
	}, nil
}

// RemoveStale takes away what imports left half done whose maker is provably dead, and shims whose shards
// are gone. Package owner calls it in a sweep.
func (b *Backend) RemoveStale(ctx context.Context) error {
	return errors.Join(b.removeImports(ctx), b.endLostShims(ctx))
}

func (b *Backend) removeImports(ctx context.Context) error {
	m := b.LeasesService()
	all, err := m.List(ctx)
	if err != nil {
		return explain(err)
	}
	var failed []error
	for _, l := range all {
		if _, ok := l.Labels[labelImport]; !ok {
			continue
		}
		s, err := owner.Parse(l.Labels)
		if err != nil {
			continue
		}
		if v, err := s.Owner.Judge(); err != nil || v != owner.Dead {
			continue
		}
		if err := m.Delete(ctx, l, leases.SynchronousDelete); ignore(err, errdefs.IsNotFound) != nil {
			failed = append(failed, explain(err))
		}
	}
	return errors.Join(failed...)
}
