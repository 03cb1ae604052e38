package channel

import (
	"context"
	"crypto/rand"
	"io"
	"time"
)

// Options of a Client; the zero value is what a run uses.
type Options struct {
	// Lease is this coordinator's identity; default random. A shard obeys the newest lease only, and
	// never again one that another has replaced.
	Lease string
	// Generation is the number of the first link; each later one has the next. Default 1.
	Generation uint64
	// ReopenFor is how long a lost link is tried again before the shard is given up; default 30 s,
	// negative for not at all.
	ReopenFor time.Duration
	// AttachTimeout bounds one try, from the exec to the worker's answer; default 20 s.
	AttachTimeout time.Duration
	// Bulk, if set, carries what Put and Get have above bulkMin.
	Bulk Bulk
	Timing
}

// Bulk moves files between here and the shard by another way than the link, where there is a faster
// one: engines carry an exec's stdio in small packets. It's as backends.Shard has it.
type Bulk interface {
	CopyIn(ctx context.Context, dir string, tar io.Reader) error
	CopyOut(ctx context.Context, path string, tar io.Writer) error
}

func (o Options) orDefault() Options {
	if o.Lease == "" {
		o.Lease = rand.Text()
	}
	if o.Generation == 0 {
		o.Generation = 1
	}
	if o.ReopenFor == 0 {
		o.ReopenFor = 30 * time.Second
	}
	if o.AttachTimeout <= 0 {
		o.AttachTimeout = 20 * time.Second
	}
	o.Timing = o.Timing.orDefault()
	return o
}

// Backoff between two tries to open a link.
const (
	backoffFirst = 50 * time.Millisecond
	backoffLast  = 2 * time.Second
)
