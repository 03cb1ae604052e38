package driver

import (
	"context"
	"errors"
	"time"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/session/atspi"
	"github.com/berth-run/berth/session/x11"
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

// click clicks into the middle of a control with the pointer, as the app takes nothing else for it. asked
// is as of press.
func (r *run) click(ctx context.Context, step string, n *atspi.Node) (asked bool, err error) {
	if err := r.afford(); err != nil {
		return false, err
	}
	x, y, err := r.middle(ctx, n)
	if err != nil {
		return false, err
	}
	at := time.Now()
	if err := r.display.Click(ctx, x, y, x11.Left); err != nil {
		return true, code.Errorf(code.HelperFailed, "clicking: %w", err)
	}
	r.record(Action{At: at, Step: step, Role: n.Role.String(), Name: n.Name, Action: "pointer"})
	return true, nil
}

var errGeometry = &code.Error{Code: code.ProfessionGeometryInvalid}

func geometry(format string, args ...any) error {
	return code.Errorf(errGeometry.Code, format, args...)
}

// middle is where on screen the middle of a control is, and where a click goes to the app's own window.
//
// An app may be mistaken about where on screen its parts are, so that is put together of the control's
// place in its window and the window's on screen (contract §4.3).
func (r *run) middle(ctx context.Context, n *atspi.Node) (x, y int, err error) {
	frame := n.Ancestor(atspi.RoleFrame)
	if frame == nil {
		return 0, 0, geometry("%v %q is in no window", n.Role, n.Name)
	}
	origin, err := r.app.Extents(ctx, frame, atspi.OfScreen)
	if err != nil {
		return 0, 0, err
	}
	at, err := r.app.Extents(ctx, n, atspi.OfWindow)
	if err != nil {
		return 0, 0, err
	}
	if at.Width <= 0 || at.Height <= 0 {
		return 0, 0, geometry("%v %q has no size", n.Role, n.Name)
	}
	inX, inY := at.X+at.Width/2, at.Y+at.Height/2
	in, err := r.app.Contains(ctx, n, inX, inY, atspi.OfWindow)
	if err != nil {
		return 0, 0, err
	}
	if !in {
		return 0, 0, geometry("%d,%d isn't in %v %q", inX, inY, n.Role, n.Name)
	}
	x, y = int(origin.X+inX), int(origin.Y+inY)
	return x, y, r.hits(ctx, x, y)
}

// hits fails unless a click at a point goes to the app.
func (r *run) hits(ctx context.Context, x, y int) error {
	window, ok, err := r.display.WindowAt(ctx, x, y)
	switch {
	case err != nil:
		return code.Errorf(code.HelperFailed, "%w", err)
	case !ok:
		return geometry("no window is at %d,%d", x, y)
	case window.PID != 0 && int(window.PID) != r.app.PID:
		return geometry("another app's window is at %d,%d", x, y)
	}
	return nil
}

// open hands a draft over, once.
func (r *run) open(ctx context.Context, draft string) error {
	if err := r.afford(); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, r.limits.Open)
	defer cancel()
	at := time.Now()
	err := r.opts.Open(limited, draft)
	r.record(Action{At: at, Step: string(DraftOpen), Action: "open", Error: code.Of(err)})
	switch {
	case err == nil || code.Of(err) != "":
		return err
	case ctx.Err() != nil && errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		return code.Errorf(code.DeadlineExceeded, "handing a draft over: %w", err)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return code.Errorf(code.OpenFailed, "%w", err)
}
