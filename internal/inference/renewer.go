package inference

import (
	"context"
	"crypto/rand"
	"sync"
	"time"
)

const (
	// renewEvery is the contract's.
	renewEvery = 4 * time.Minute
	// retryAfter is how soon a renewal that failed is tried again; it doubles up to renewEvery.
	retryAfter = 15 * time.Second
)

// renewer keeps one shard's token file fresh.
type renewer struct {
	mu     sync.Mutex // one renewal at a time, so that an older token never replaces a newer one
	source *Source
	write  func(context.Context, []byte) error
	warn   func(error)
}

// run renews until ctx ends. A failure is told and tried again: the shard goes on with what it has.
func (r *renewer) run(ctx context.Context) {
	wait, retry := renewEvery, retryAfter
	for sleep(ctx, wait) {
		err := r.renew(ctx, "")
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			r.warn(err)
			wait, retry = retry, min(2*retry, renewEvery)
		default:
			wait, retry = renewEvery, retryAfter
		}
	}
}

// renew writes a token that lasts until the next time; refused, when it isn't "", is the one that
// the gateway has just answered with 401.
func (r *renewer) renew(ctx context.Context, refused string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var token string
	var err error
	if refused != "" {
		token, err = r.source.after(ctx, refused)
	} else {
		token, err = r.source.lasting(ctx, renewEvery)
	}
	if err != nil {
		return err
	}
	return r.write(ctx, []byte(token))
}

// sleep tells whether d passed before ctx ended.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func newTicket() string { return "berth-ticket-" + rand.Text() }
