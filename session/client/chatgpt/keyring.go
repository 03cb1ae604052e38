package chatgpt

import (
	"cmp"
	"context"
	"time"
)

// keyringGap is between two looks at the keyring while an app comes up.
const keyringGap = 500 * time.Millisecond

// watchKeyring ends a context when an app can't get at its secrets: it sits on its splash then, and
// waits for somebody to type a password. A keyring may also be gone with its desktop, which then was the
// cause.
func (s *batch) watchKeyring(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	app, bus := s.app, s.desktop.Bus()
	go func() {
		for {
			select {
			case <-time.After(keyringGap):
			case <-ctx.Done():
				return
			}
			if err := s.client.keyring.check(ctx, bus); err != nil && ctx.Err() == nil {
				cancel(cmp.Or(app.ending(doubtWait), err))
			}
		}
	}()
	return ctx, func() { cancel(nil) }
}
