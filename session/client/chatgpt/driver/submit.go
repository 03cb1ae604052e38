package driver

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/session/atspi"
)

// Submit hands a prompt over once, waits until the composer holds it, and activates Send once. It never
// types, pastes, presses Enter, hands over again or sends again.
//
// Errors are as Prepare's. Receipt.Sent tells whether Send was activated: after that, what became of the
// prompt is known to the app's own record only.
func (d *Driver) Submit(ctx context.Context, s Surface, prompt string) (Receipt, error) {
	return d.do(ctx, s, Submitted, func(ctx context.Context, r *run) error { return r.submit(ctx, prompt) })
}

// draft is a prompt on its way.
type draft struct {
	*run
	prompt string
	before *string // what the composer held before; nil: there was none
	code   code.Code
	detail string // what the last look means, unless the next is better

	dismissed atspi.Ref // the announcement's control that was acted on
}

func (r *run) submit(ctx context.Context, prompt string) error {
	if err := checkPrompt(prompt); err != nil {
		return err
	}
	r.phase = AtSurface
	r.enter(DraftOpen)
	if err := r.meet(ctx, time.Now().Add(r.limits.FirstUI)); err != nil {
		return err
	}
	if err := r.alone(ctx); err != nil {
		return err
	}
	d := &draft{run: r, prompt: prompt}
	if err := d.observe(ctx); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{d.handOver, d.surface, d.readBack, d.send, d.accepted} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func checkPrompt(prompt string) error {
	switch {
	case len(prompt) > maxPrompt:
		return code.Errorf(code.InputTooLarge, "the prompt has %d bytes (at most %d)", len(prompt), maxPrompt)
	case prompt == "" || !utf8.ValidString(prompt) || strings.ContainsRune(prompt, 0):
		return code.Errorf(code.InvalidPrompt, "a prompt is text, of which there is some")
	}
	return nil
}

// observe sees before anything is done that the app isn't on another surface. After a turn it shows the
// old conversation with no mode switch, for which there's nothing to wait for long.
func (d *draft) observe(ctx context.Context) error {
	var tree *atspi.Tree
	_, err := d.await(ctx, d.limits.Observe, "the mode switch", func(t *atspi.Tree) (bool, error) {
		if covered, err := d.dismiss(ctx, t); covered || err != nil {
			return false, err
		}
		tree = t
		return len(d.controls.surfaces(t)) > 0, nil
	})
	if err != nil || tree == nil { // not a look in that time
		return err
	}
	for _, on := range d.controls.surfaces(tree) {
		if on != d.wanted {
			return code.Errorf(code.SurfaceMismatch, "the app is on %s", on)
		}
	}
	if editors := d.controls.composers(tree); len(editors) == 1 {
		if text, err := d.app.Text(ctx, editors[0]); err == nil {
			d.before = &text
		}
	}
	return nil
}

// handOver hands the prompt over, and waits for it to be there.
func (d *draft) handOver(ctx context.Context) error {
	if err := d.open(ctx, d.prompt); err != nil {
		return err
	}
	return d.until(ctx, d.limits.Draft, d.holds)
}

// surface sees that the draft is on the wanted surface, and corrects that once.
func (d *draft) surface(ctx context.Context) error {
	d.enter(DraftSurface)
	screens := append([]screen{announcement(d.controls)}, modeSwitch(d.controls, d.wanted)...)
	return d.walk(ctx, screens, d.atSurface, time.Time{})
}

// readBack sees that the draft is still there.
func (d *draft) readBack(ctx context.Context) error {
	d.phase = AtComposer
	d.enter(DraftReadback)
	return d.until(ctx, d.limits.Screen, d.holds)
}

// send activates Send, once.
func (d *draft) send(ctx context.Context) error {
	d.enter(Send)
	return d.until(ctx, d.limits.Screen, func(ctx context.Context, t *atspi.Tree) (bool, error) {
		if ok, err := d.holds(ctx, t); !ok {
			return false, err
		}
		if f := d.atSurface(t); !f.reached {
			d.code, d.detail = f.code, f.detail
			return false, nil
		}
		send := d.controls.Send.one(t)
		if n := d.controls.Send.onScreen(t); send == nil || n != 1 {
			d.code, d.detail = code.SendMissingOrAmbiguous, count(n, "Send buttons, enabled")
			return false, nil
		}
		asked, err := d.press(ctx, string(Send), send, d.controls.Send)
		d.receipt.Sent = asked && !errors.Is(err, atspi.ErrRefused)
		if !asked && changed(err) {
			d.code, d.detail = code.Of(err), code.Detail(err)
			return false, nil
		}
		return err == nil, err
	})
}

// accepted waits until the composer doesn't hold the draft any more. A window that has lost its page has
// accepted nothing: its app is ending.
func (d *draft) accepted(ctx context.Context) error {
	paged := len(pages(d.seen)) > 0
	return d.watch(ctx, d.limits.Screen, func(ctx context.Context, t *atspi.Tree) (bool, error) {
		d.code, d.detail = code.ActionAcknowledgementUncertain, "Send was activated, and the composer still holds the prompt"
		editors := d.controls.composers(t)
		if len(editors) != 1 {
			return len(editors) == 0 && (len(pages(t)) > 0 || !paged), nil
		}
		text, err := d.app.Text(ctx, editors[0])
		if err != nil {
			return false, transient(err)
		}
		return !isDraft(text, d.prompt), nil
	})
}

// until is watch of what nothing lies over: an announcement is dismissed, and what only somebody could
// answer ends it.
func (d *draft) until(ctx context.Context, limit time.Duration, see func(context.Context, *atspi.Tree) (bool, error)) error {
	d.asks = nil
	return d.watch(ctx, limit, func(ctx context.Context, t *atspi.Tree) (bool, error) {
		if covered, err := d.dismiss(ctx, t); covered || err != nil {
			return false, err
		}
		if ok, err := see(ctx, t); ok || err != nil {
			d.asks = nil
			return ok, err
		}
		return false, d.asked(t)
	})
}

// watch waits until see is satisfied; when limit is over it fails with what see found last.
func (d *draft) watch(ctx context.Context, limit time.Duration, see func(context.Context, *atspi.Tree) (bool, error)) error {
	d.code, d.detail = code.StateTransitionUnobserved, "the draft wasn't looked at"
	over, err := d.await(ctx, limit, "the draft", func(t *atspi.Tree) (bool, error) { return see(ctx, t) })
	if over {
		return d.late(d.code, d.detail)
	}
	return err
}

// holds tells whether the composer holds the prompt, and else what that means.
func (d *draft) holds(ctx context.Context, t *atspi.Tree) (bool, error) {
	editors := d.controls.composers(t)
	switch {
	case len(editors) == 0 && len(d.controls.surfaces(t)) == 0 && d.controls.Send.onScreen(t) == 0:
		d.code, d.detail = code.StateTransitionUnobserved, "no new thread is shown"
		return false, nil
	case len(editors) != 1:
		d.code, d.detail = code.ComposerMissingOrAmbiguous, count(len(editors), "composers")
		return false, nil
	}
	text, err := d.app.Text(ctx, editors[0])
	switch {
	case err != nil:
		d.code, d.detail = code.ComposerTextUnavailable, code.Detail(err)
		return false, transient(err)
	case isDraft(text, d.prompt):
		return true, nil
	case d.before != nil && text == *d.before:
		d.code, d.detail = code.DraftPromptNotApplied, "the composer holds what it held before"
	default:
		d.code, d.detail = code.StateTransitionUnobserved, "the composer doesn't hold the prompt"
	}
	return false, nil
}

// transient is nil for an error that the next look may not meet again: what was seen has changed.
func transient(err error) error {
	if errors.Is(err, atspi.ErrText) || errors.Is(err, atspi.ErrBus) {
		return nil
	}
	return err
}
