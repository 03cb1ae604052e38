package chatgpt

import (
	"context"
	"time"
)

// askGap is between two looks for a question while a turn is on.
const askGap = 5 * time.Second

// watchQuestions ends a context when the app waits for a person: the turn would stand still until its time
// is over. What is seen once may be going; so it takes two looks. The second func ends the looking.
func (r *run) watchQuestions(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	window, done := r.s.app.window, make(chan struct{})
	gap := r.s.limits().Asks
	go func() {
		defer close(done)
		for seen := false; ; {
			select {
			case <-time.After(gap):
			case <-ctx.Done():
				return
			}
			err := window.Asks(ctx)
			if err != nil && seen {
				cancel(err)
				return
			}
			seen = err != nil
		}
	}()
	return ctx, func() { cancel(nil); <-done }
}
