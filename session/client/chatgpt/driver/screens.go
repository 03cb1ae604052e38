package driver

import (
	"fmt"

	"github.com/berth-run/berth/internal/code"
)

// screen is one thing that the app may show on the way to the composer, and what is done about it.
type screen struct {
	name   string
	after  string // the screen that must have been dealt with before
	before string // the screen that mustn't

	// It's this screen when all of signs are there, and it's understood when each of once is there once
	// and none of never is.
	signs, once, never []Control
	// act is what is then acted on, once: with the pointer, or by its action.
	act     Control
	pointer bool
	// shows says that it worked; none: act's control isn't there any more.
	shows Control

	phase    Phase
	code     code.Code // it's not understood, or act isn't there or several are
	unproved code.Code // what shows that it worked didn't come
}

// announcement is that of a model, which may lie over any other screen; which model is used isn't chosen
// here.
func announcement(c *Controls) screen {
	return screen{
		name:  "announcement",
		signs: []Control{c.Announcement},
		act:   c.KeepModel,
		phase: IntroDismiss, code: code.ActionMissingOrAmbiguous, unproved: code.StateTransitionUnobserved,
	}
}

// firstRun are an app's screens, those that may lie over others first. None of them has to come, and
// any may come again.
func firstRun(c *Controls) []screen {
	return []screen{
		announcement(c),
		{
			name:  "confirmation",
			signs: []Control{c.GoToChatGPT}, once: []Control{c.GoToChatGPT, c.KeepSettingUp},
			act:   c.GoToChatGPT,
			phase: IntroDismiss, code: code.IntroConfirmationAmbiguous, unproved: code.StateTransitionUnobserved,
		},
		{
			name:  "examples",
			signs: []Control{c.LeaveNote, c.Spreadsheet}, once: []Control{c.LeaveNote, c.Spreadsheet},
			act:   c.Skip,
			phase: IntroDismiss, code: code.SkipMissingOrAmbiguous, unproved: code.StateTransitionUnobserved,
		},
		{
			// What it says of being checked may be stale: that it was clicked shows in Continue alone.
			name:  "profession",
			signs: []Control{c.Engineering}, once: []Control{c.Engineering},
			act: c.Engineering, pointer: true,
			shows: c.Continue,
			phase: ProfessionSelected, code: code.ProfessionAmbiguous, unproved: code.ContinueMissingOrAmbiguous,
		},
		{
			name:  "continue",
			after: "profession",
			signs: []Control{c.Engineering},
			act:   c.Continue,
			phase: ContinueReady, code: code.ContinueMissingOrAmbiguous, unproved: code.StateTransitionUnobserved,
		},
	}
}

// modeSwitch are the two steps from one surface to the wanted one.
func modeSwitch(c *Controls, wanted Surface) []screen {
	other := c.Switch[Work]
	if wanted == Work {
		other = c.Switch[Codex]
	}
	return []screen{
		{
			name:  "menu",
			after: "mode",
			signs: []Control{c.Item[wanted]},
			act:   c.Item[wanted],
			shows: c.Switch[wanted],
			phase: AtSurface, code: code.SurfaceItemAmbiguous, unproved: code.StateTransitionUnobserved,
		},
		{
			name:   "mode",
			before: "menu",
			signs:  []Control{other}, once: []Control{other}, never: []Control{c.Switch[wanted]},
			act:   other,
			shows: c.Item[wanted],
			phase: AtSurface, code: code.ModeMissingOrAmbiguous, unproved: code.SurfaceItemAmbiguous,
		},
	}
}

// told says how many of a control there are, and how many there should be.
func (s *screen) told(c Control, n, want int) string {
	return fmt.Sprintf("the %s screen has %d controls %q that can be used, want %d", s.name, n, c.Label, want)
}
