package runner

import (
	"context"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/internal/channel"
	"github.com/berth-run/berth/internal/shardproto"
)

// Visit brings up one shard that runs no trial, proves it, and gives it to use; then it's taken down as
// any other is. What is wrong is in the outcome's Err.
func (r *Run) Visit(ctx context.Context, use func(context.Context, channel.Shard) error) ShardOutcome {
	log := newProgress(r.Progress, r.Secrets)
	c, stop := r.common(ctx, log, r.Drain)
	defer stop()
	s := newShard(c, &shardproto.Bundle{Shard: shardproto.Shard{Count: 1}})
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.drained, func() { cancel(errVisitCut) })()
	err := s.inContainer(ctx, func(sh backends.Shard) error {
		return s.linked(ctx, sh, func(ctx context.Context, l channel.Shard) error {
			if err := s.out.Steps.time("selfcheck", func() error { return s.selfCheck(ctx, l) }); err != nil {
				return err
			}
			s.out.Started = true
			return use(ctx, l)
		})
	})
	s.out.Err = s.Secrets.Error(reason(ctx, err))
	return s.out
}
