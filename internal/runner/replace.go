package runner

import (
	"context"
	"slices"

	"github.com/berth-run/berth/internal/capacity"
	"github.com/berth-run/berth/internal/channel"
	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/shardproto"
)

// inShards runs a bundle: in one shard, or in several, one after the other, where one hit its memory limit or
// was filled. Nothing else has a shard replaced: what else ends one may well end the next.
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

// spends gives the reason why a shard isn't fit for another trial after one that failed with a code. Where the
// kernel has killed for want of memory, what else is missing can't be known; and what fills a file system may
// lie anywhere in it.
func (c *collector) spends(failure code.Code) error {
	switch memory := capacity.Size(c.Spec.Memory()); failure {
	case code.OOMKilled:
		return code.Errorf(failure, "its memory limit of %s was hit; raise it with --runner-option memory=", memory)
	case code.ShardFull:
		return code.Errorf(failure, "a trial left no room in it; there is more with more than %s of --runner-option memory=", memory)
	}
	return nil
}

// spend gives the shard up, once: each trial of a batch whose app didn't fit says so. Its worker is cancelled,
// which sends no further prompt.
func (c *collector) spend(ctx context.Context, l channel.Shard, why error) (err error) {
	if c.spent == nil {
		c.spent = why
		err = c.cancel(ctx, l, code.Detail(why))
	}
	return err
}

// blame names that as the reason of whatever a shard ended with after it.
func (c *collector) blame(err error) error {
	if err == nil || c.spent == nil || verdict(err) {
		return err
	}
	return c.spent
}

// handOn leaves to the next shard what a spent one hasn't begun. What was running in a shard
// that was killed whole isn't to run again, so there is no next where that couldn't be recorded.
func (c *collector) handOn() {
	n := len(c.left)
	if c.spends(code.Of(c.out.Err)) == nil || n == 0 || n == len(c.keys()) {
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

// tell says why the shard stopped. With nothing left to do, the trial that spent it has said it.
func (c *collector) tell() {
	switch {
	case c.rest != nil:
		c.say.printf("replaced, with %d of its trials left: %v", len(c.left), c.out.Err)
	case c.out.Err != nil && (c.spent == nil || len(c.out.Missing) > 0):
		c.stops.add(c.bundle.Shard, c.out.Err)
	}
}
