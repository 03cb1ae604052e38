package driver

import (
	"context"
	"errors"
	"time"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/session/atspi"
)

// press does a control's action. asked is false when it came to nothing before the app was asked: then
// nothing was done. Else it mustn't be tried again.
func (r *run) press(ctx context.Context, step string, n *atspi.Node, c Control) (asked bool, err error) {
	if err := r.afford(); err != nil {
		return false, err
	}
	at := time.Now()
	action, err := r.app.DoOne(ctx, n, c.Actions...)
	if action == "" {
		return false, err
	}
	r.record(Action{At: at, Step: step, Role: n.Role.String(), Name: n.Name, Action: action, Error: code.Of(err)})
	return true, err
}

// changed tells whether an error may come of a control that isn't what it was when it was seen; the
// next look will tell.
func changed(err error) bool {
	for _, cause := range []error{atspi.ErrUnavailable, atspi.ErrNotOne, atspi.ErrBus, errGeometry} {
		if errors.Is(err, cause) {
			return true
		}
	}
	return false
}

// afford fails when nothing more may be done to the app.
func (r *run) afford() error {
	if r.receipt.ActionCount >= r.limits.Actions {
		return code.Errorf(code.ActionBudgetExhausted, "%d actions were done", r.receipt.ActionCount)
	}
	return nil
}

func (r *run) record(a Action) {
	r.receipt.ActionCount++
	r.receipt.Steps = append(r.receipt.Steps, a)
}

// maxSights bounds Receipt.Seen: an app may go to and fro between screens.
const maxSights = 256

// saw notes what the app shows, when that is something else than before.
func (r *run) saw(screen string) {
	n := len(r.receipt.Seen)
	if n == maxSights || n > 0 && r.receipt.Seen[n-1].Screen == screen {
		return
	}
	r.receipt.Seen = append(r.receipt.Seen, Sight{At: time.Now(), Screen: screen, Phase: r.phase})
}

// enter begins a step of a draft.
func (r *run) enter(s Step) {
	r.step = s
	r.saw(string(s))
}

// open hands a draft over, once.
func (r *run) open(ctx context.Context, draft string) error {
	if err := r.afford(); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, r.limits.Open)
	defer cancel()
	at := time.Now()
	err := handOffFailed(ctx, r.opts.Open(limited, draft))
	r.record(Action{At: at, Step: string(DraftOpen), Action: "open", Error: code.Of(err)})
	return err
}

// handOffFailed gives an error of an Opener its code: its own, that of the end of ctx, or open_failed.
func handOffFailed(ctx context.Context, err error) error {
	switch {
	case err == nil || code.Of(err) != "":
		return err
	case ctx.Err() == nil:
		return code.Errorf(code.OpenFailed, "%w", err)
	case errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		return code.Errorf(code.DeadlineExceeded, "handing a draft over: %w", err)
	}
	return context.Cause(ctx)
}
