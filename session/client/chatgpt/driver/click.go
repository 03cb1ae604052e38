package driver

import (
	"context"
	"errors"
	"time"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/session/atspi"
	"github.com/berth-run/berth/session/x11"
)

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
	if err = r.display.Click(ctx, x, y, x11.Left); err != nil {
		err = displayFailed(ctx, err)
	}
	r.record(Action{At: at, Step: step, Role: n.Role.String(), Name: n.Name, Action: "pointer", Error: code.Of(err)})
	return true, err
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
		return displayFailed(ctx, err)
	case !ok:
		return geometry("no window is at %d,%d", x, y)
	case window.PID != 0 && int(window.PID) != r.app.PID:
		return geometry("another app's window is at %d,%d", x, y)
	}
	return nil
}

// displayFailed gives an error of the display its code, unless it only says that ctx has ended.
func displayFailed(ctx context.Context, err error) error {
	switch {
	case ctx.Err() == nil:
		return code.Errorf(code.HelperFailed, "%w", err)
	case errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		return code.Errorf(code.DeadlineExceeded, "clicking: %w", err)
	}
	return context.Cause(ctx)
}
