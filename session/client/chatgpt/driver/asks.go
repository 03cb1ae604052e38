package driver

import (
	"context"
	"time"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/session/atspi"
)

// question is something that an app waits for a person to answer. Nobody is there, and nothing is
// answered in anybody's place.
type question struct {
	code   code.Code
	detail string
}

var (
	signIn     = question{code.SignInRequired, "the app asks to sign in, and waits"}
	permission = question{code.PermissionRequired, "the app asks for a permission or an approval, and waits"}
)

// question is what the app asks in a dialog, or where it shows none of its own controls: a button of the
// same name may be in a corner of any screen. During a turn there are none of these controls, so
// that only an approval, which has no other place, is taken for a question outside a dialog.
func (c *Controls) question(t *atspi.Tree, turn bool) *question {
	bare := len(c.composers(t)) == 0 && len(c.surfaces(t)) == 0 && c.Send.onScreen(t) == 0
	for _, b := range c.Permission {
		if asksBy(t, b, bare) {
			return &permission
		}
	}
	for _, b := range c.SignIn {
		if asksBy(t, b, bare && !turn) {
			return &signIn
		}
	}
	return nil
}

func asksBy(t *atspi.Tree, button Control, bare bool) bool {
	for _, n := range button.find(t, atspi.Available) {
		if bare || n.Ancestor(atspi.RoleDialog) != nil || n.Ancestor(atspi.RoleAlert) != nil {
			return true
		}
	}
	return false
}

// asked fails when the app has been asking something for a while. It's for looks that came to nothing. A
// page with a way to sign in may still be on its way to something else.
func (r *run) asked(t *atspi.Tree) error {
	now := r.controls.question(t, false)
	if now != r.asks {
		r.asks, r.since = now, time.Now()
	}
	patience := r.limits.Observe
	if now == &signIn {
		patience = r.limits.Screen
	}
	if now == nil || time.Since(r.since) < patience {
		return nil
	}
	return code.Errorf(now.code, "%s", now.detail)
}

// late is why what was waited for hasn't come: what the app asks, else c.
func (r *run) late(c code.Code, detail string) error {
	if r.asks != nil {
		c, detail = r.asks.code, r.asks.detail
	}
	return code.Errorf(c, "%s", detail)
}

// Asks fails when the app shows something that only a person could answer, while a turn is on, which
// then stands still. That the app is gone is somebody else's to tell.
func (d *Driver) Asks(ctx context.Context) error {
	if d.app == nil {
		return nil
	}
	if t, err := d.app.Snapshot(ctx); err == nil {
		if q := d.row.Controls.question(t, true); q != nil {
			return code.Errorf(q.code, "%s", q.detail)
		}
	}
	return nil
}
