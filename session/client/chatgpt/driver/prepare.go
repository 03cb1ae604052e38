package driver

import (
	"context"
	"time"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/session/atspi"
)

// Prepare takes an app that was just started to an empty composer on a surface: through its first-run
// screens, those that come, and past the routing of its own start, by an empty draft. It sends nothing.
//
// Errors have the codes of contract §6.3, ErrNotEnabled's, the Opener's, or are ctx's cause; the Receipt
// says the same and more.
func (d *Driver) Prepare(ctx context.Context, s Surface) (Receipt, error) {
	return d.do(ctx, s, Ready, func(ctx context.Context, r *run) error { return r.prepare(ctx) })
}

func (r *run) prepare(ctx context.Context) error {
	first := time.Now().Add(r.limits.FirstUI)
	r.phase = WaitingForInitialUI
	if err := r.meet(ctx, first); err != nil {
		return err
	}
	if err := r.toComposer(ctx, first); err != nil {
		return err
	}
	r.enter(DraftOpen)
	if err := r.open(ctx, ""); err != nil {
		return err
	}
	if err := r.lookOn(ctx); err != nil {
		return err
	}
	if err := r.alone(ctx); err != nil {
		return err
	}
	r.enter(DraftSurface)
	return r.toComposer(ctx, time.Time{})
}

// meet finds the app in the time that its first screen has.
func (r *run) meet(ctx context.Context, until time.Time) error {
	limited, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	err := r.attach(limited)
	if late(ctx, limited, err) {
		return code.Errorf(code.StateTransitionUnobserved, "%w", err)
	}
	r.controls = r.row.Controls
	return err
}

// unknown is a finding's name when nothing that is known is on screen.
const unknown = "unknown"

func (r *run) toComposer(ctx context.Context, first time.Time) error {
	c := r.controls
	screens := append(firstRun(c), modeSwitch(c, r.wanted)...)
	return r.walk(ctx, screens, r.atComposer, first)
}

// atComposer is reached with one editor, one Send, and one mode switch, on the wanted surface. An editor
// alone isn't a screen that an app starts with.
func (r *run) atComposer(t *atspi.Tree) finding {
	on := r.controls.surfaces(t)
	composers, sends := len(r.controls.composers(t)), r.controls.Send.onScreen(t)
	switch {
	case len(on) == 0 && (r.phase == WaitingForInitialUI || composers == 0 && sends == 0):
		return finding{name: unknown, phase: r.phase, code: code.StateTransitionUnobserved, detail: "no screen that is known"}
	case len(on) != 1 || on[0] != r.wanted:
		return r.atSurface(t)
	case composers != 1:
		return finding{name: "composer", phase: AtComposer, code: code.ComposerMissingOrAmbiguous, detail: count(composers, "composers")}
	case sends != 1:
		return finding{name: "composer", phase: AtComposer, code: code.SendMissingOrAmbiguous, detail: count(sends, "Send buttons")}
	}
	return finding{name: "composer", phase: AtComposer, reached: true}
}

// atSurface is reached with one mode switch, on the wanted surface.
func (r *run) atSurface(t *atspi.Tree) finding {
	f := finding{name: "surface", phase: AtSurface}
	switch on := r.controls.surfaces(t); {
	case len(on) != 1:
		f.code, f.detail = code.ModeMissingOrAmbiguous, count(len(on), "mode switches")
	case on[0] != r.wanted:
		f.code, f.detail = code.SurfaceMismatch, "the mode switch is on "+string(on[0])
	default:
		f.reached = true
	}
	return f
}

// lookOn does nothing to the app for a while: it routes links when it comes to it, and a late one would
// replace the first real draft.
func (r *run) lookOn(ctx context.Context) error {
	_, err := r.await(ctx, r.limits.Settle, "the set-up draft", func(*atspi.Tree) (bool, error) { return false, nil })
	return err
}
