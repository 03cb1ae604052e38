package runner

import (
	"context"
	"slices"

	"github.com/berth-run/berth/internal/capacity"
	"github.com/berth-run/berth/internal/channel"
	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/shardproto"
)

// inShards runs a bundle: in one shard, or in several, one after the other, where one hit its memory limit.
// Nothing else has a shard replaced: what else ends one may well end the next.
//
// There is an end to it, since a shard is replaced only if trials of the bundle have come to theirs in it, and
// those aren't run again.
func (c *common) inShards(ctx context.Context, b *shardproto.Bundle) (all []ShardOutcome) {
	for b != nil {
		s := newShard(c, b)
		s.nth = len(all)
		all = append(all, s.live(ctx))
		b = s.rest
	}
	return all
}

// limitHit gives a shard up in which the kernel has killed for want of memory: what else of it is missing
// can't be known. Its worker is cancelled, which sends no further prompt.
func (c *collector) limitHit(ctx context.Context, l channel.Shard) error {
	if c.full { // each trial of a batch whose app didn't fit says so
		return nil
	}
	c.full = true
	return c.cancel(ctx, l, "the shard's memory limit was hit")
}

func (c *collector) errFull() error {
	return code.Errorf(code.OOMKilled, "its memory limit of %s was hit; raise it with --runner-option memory=", capacity.Size(c.Spec.Memory()))
}

// blame names the limit as the reason of whatever a shard ended with that had hit it before.
func (c *collector) blame(err error) error {
	if err == nil || !c.full || verdict(err) {
		return err
	}
	return c.errFull()
}

// handOn leaves to the next shard what one that hit its memory limit hasn't begun. What was running in a shard
// that was killed whole isn't to run again, so there is no next where that couldn't be recorded.
func (c *collector) handOn() {
	n := len(c.left)
	if code.Of(c.out.Err) != code.OOMKilled || n == 0 || n == len(c.keys()) {
		return
	}
	if slices.ContainsFunc(c.cut, func(k shardproto.Key) bool { return c.left[k] }) {
		return
	}
	c.rest, c.out.Missing = only(c.bundle, c.left), nil
}

// only is a bundle with these trials of it and no others.
func only(b *shardproto.Bundle, keys map[shardproto.Key]bool) *shardproto.Bundle {
	rest := *b
	rest.Batches = nil
	for _, batch := range b.Batches {
		kept := slices.DeleteFunc(slices.Clone(batch.Requests), func(r shardproto.Request) bool {
			return !keys[shardproto.Key{Variant: batch.Variant, CaseID: r.CaseID, Trial: r.Trial}]
		})
		if len(kept) > 0 {
			rest.Batches = append(rest.Batches, shardproto.Batch{Variant: batch.Variant, Requests: kept})
		}
	}
	return &rest
}

// tell says why the shard stopped. With nothing left to do, the trial that hit the limit has said it.
func (c *collector) tell() {
	switch {
	case c.rest != nil:
		c.say.printf("replaced, with %d of its trials left: %v", len(c.left), c.out.Err)
	case c.out.Err != nil && (!c.full || len(c.out.Missing) > 0):
		c.stops.add(c.bundle.Shard, c.out.Err)
	}
}
