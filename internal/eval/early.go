package eval

import (
	"context"
	"errors"
)

// early has do prepare, which the first interrupt ends with ErrInterrupted: there is nothing to drain yet,
// and an engine may take its time to answer.
func (q Request) early(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-q.Drain:
			cancel(ErrInterrupted)
		case <-ctx.Done():
		}
	}()
	err := do(ctx)
	if err != nil && errors.Is(context.Cause(ctx), ErrInterrupted) {
		return ErrInterrupted
	}
	return err
}
