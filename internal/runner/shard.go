package runner

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/internal/channel"
	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/owner"
	"github.com/berth-run/berth/internal/shardproto"
)

const (
	// removeWithin bounds a clean-up that goes on after the run's own context ended.
	removeWithin = time.Minute
	// keepWithin bounds telling a worker that its shard is kept.
	keepWithin = 30 * time.Second
	// keepAliveMost is the longest time between two signs of life on a link.
	keepAliveMost = 10 * time.Second
	// awaitAgain is how long an engine that can't be asked for a shard's end is left alone.
	awaitAgain = time.Second
	// endWithin is how long the engine may take to say that a shard has ended whose link is lost.
	endWithin = 10 * time.Second
)

// shard is one shard's part of a run.
type shard struct {
	*common
	bundle *shardproto.Bundle
	say    shardProgress
	out    ShardOutcome
	// nth counts the shards that had a part of the bundle, from 0; rest is what the next is to do.
	nth  int
	rest *shardproto.Bundle
}

func newShard(c *common, b *shardproto.Bundle) *shard {
	return &shard{common: c, bundle: b, say: c.log.shard(b.Shard), out: ShardOutcome{Shard: b.Shard, Steps: Steps{}}}
}

// live is a shard's whole life; what it made is gone when it returns, unless it is to be kept.
func (s *shard) live(ctx context.Context) ShardOutcome {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// Before the first trial a drain has nothing to be graceful about.
	early := code.Errorf(code.Cancelled, "interrupted before its first trial")
	begin := context.AfterFunc(s.drained, func() { cancel(early) })
	defer begin()

	c := newCollector(s)
	err := s.inContainer(ctx, func(sh backends.Shard) error {
		return s.linked(ctx, sh, func(ctx context.Context, l channel.Shard) error {
			if err := s.setUp(ctx, l); err != nil {
				return err
			}
			if !begin() {
				return early
			}
			s.out.Started = true
			s.stops.begin()
			return s.out.Steps.time("collect", func() error { return c.run(ctx, l) })
		})
	})
	s.out.Err = s.Secrets.Error(c.blame(reason(ctx, err)))
	c.settle(s.out.Err)
	c.handOn()
	c.tell()
	return s.out
}

// inContainer creates and starts the shard for as long as use takes.
func (s *shard) inContainer(ctx context.Context, use func(backends.Shard) error) error {
	if ctx.Err() != nil || s.drained.Err() != nil {
		return code.Errorf(code.Cancelled, "interrupted before it was created")
	}
	spec, err := s.Spec.Spec()
	if err != nil {
		return code.Errorf(code.ShardNotCreated, "%w", err)
	}
	leave, err := s.room.Enter(ctx)
	if err != nil {
		return err
	}
	defer func() { leave(s.out.Kept || s.out.Left != nil) }()
	var sh backends.Shard
	err = s.out.Steps.time("create", func() (err error) {
		sh, err = s.Backend.Create(ctx, backends.Config{
			Name: s.name(), Image: s.Image, Spec: spec, Network: s.Network, Labels: s.Labels(s.bundle.Shard.Index),
		})
		return err
	})
	if err != nil {
		return code.Errorf(code.ShardNotCreated, "%w", err)
	}
	s.out.ID = sh.ID()
	if err := s.out.Steps.time("start", func() error { return sh.Start(ctx) }); err != nil {
		s.remove(ctx, sh) // whatever `keep` says: nothing ran in it
		return code.Errorf(code.ShardNotCreated, "%w", err)
	}
	err = use(sh)
	if s.kept(err) {
		s.out.Kept = true
		s.say.printf("kept as %s", sh.ID())
		return err
	}
	s.remove(ctx, sh)
	return err
}

// name is the container's. The one before it may have been kept.
func (s *shard) name() string {
	name := fmt.Sprintf("%s%s-%d", owner.NamePrefix, strings.ToLower(s.ID), s.bundle.Shard.Index)
	if s.nth > 0 {
		name += fmt.Sprintf(".%d", s.nth+1)
	}
	return name
}

// kept tells whether the shard outlives the run that ended with err.
func (s *shard) kept(err error) bool {
	if s.forced.Err() != nil {
		return false
	}
	return s.Options.Keep == KeepAlways || s.Options.Keep == KeepFailed && err != nil
}

func (s *shard) remove(ctx context.Context, sh backends.Shard) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeWithin)
	defer cancel()
	err := s.out.Steps.time("remove", func() error { return sh.Remove(ctx) })
	if err != nil {
		s.out.Left = s.Secrets.Error(fmt.Errorf("container %s is %w; `berth sweep` removes it once this run is over: %w", sh.ID(), ErrLeft, err))
		s.say.printf("%v", s.out.Left)
	}
}

// linked opens the channel for as long as use takes. When PID 1 ends meanwhile, use's context does
// too, so nobody waits for a link that can't come back.
func (s *shard) linked(ctx context.Context, sh backends.Shard, use func(context.Context, channel.Shard) error) error {
	alive, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if st, err := s.await(alive, sh); err == nil {
			cancel(shardEnded(st, s.Options.Deadman, s.Spec.Memory()))
		}
	}()
	defer func() {
		cancel(nil)
		<-ended
	}()
	var l *channel.Client
	err := s.out.Steps.time("channel", func() (err error) {
		l, err = channel.Dial(alive, ChannelOpener(sh), s.channelOptions(alive, sh))
		return err
	})
	if err == nil {
		defer l.Close()
		defer s.room.linked(l)()
		err = use(alive, l)
	}
	if c := code.Of(err); err != nil && (c == "" || c == code.ShardLost) {
		// If the shard has ended, how says more than the link it took along.
		select {
		case <-ended:
		case <-time.After(endWithin):
		}
	}
	err = reason(alive, err)
	if l != nil {
		s.leave(ctx, l, err)
	}
	return err
}

// await waits for PID 1's end, through an engine that is down for a while, too.
func (s *shard) await(ctx context.Context, sh backends.Shard) (backends.ExitStatus, error) {
	for {
		st, err := sh.Wait(ctx)
		if err == nil || errors.Is(err, backends.ErrNotFound) {
			return st, err
		}
		select {
		case <-ctx.Done():
			return st, err
		case <-time.After(awaitAgain):
		}
	}
}

func (s *shard) channelOptions(ctx context.Context, sh backends.Shard) channel.Options {
	return channel.Options{Bulk: BulkOf(ctx, s.Backend, sh), Timing: channel.Timing{KeepAlive: s.keepAlive()}}
}

// keepAlive is how often the worker hears of us when there is nothing to say: several times within
// what its dead man's switch waits.
func (s *shard) keepAlive() time.Duration { return min(keepAliveMost, s.Options.Deadman/3) }

// leave tells the worker what becomes of its shard: it stays, or it ends in good order. A worker that
// is dead, or to die, isn't told.
func (s *shard) leave(ctx context.Context, l channel.Shard, err error) {
	switch {
	case errors.Is(err, errShardEnded):
	case s.kept(err):
		s.keep(ctx, l)
	case err == nil:
		_ = s.out.Steps.time("shutdown", func() error { s.shutDown(ctx, l); return nil })
	}
}

// shutDown lets the worker end its app. The container is removed next in any case, so one that
// doesn't answer changes nothing.
func (s *shard) shutDown(ctx context.Context, l channel.Shard) {
	ctx, cancel := context.WithTimeout(ctx, cancelGrace)
	defer cancel()
	if err := l.Shutdown(ctx); err != nil {
		s.say.printf("the worker didn't end by itself: %v", err)
	}
}

// keep turns the worker's dead man's switch off.
func (s *shard) keep(ctx context.Context, l channel.Shard) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepWithin)
	defer cancel()
	if err := l.Keep(ctx); err != nil {
		s.say.printf("can't tell the shard that it is kept; it ends itself after %s: %v", s.Options.Deadman, err)
	}
}
