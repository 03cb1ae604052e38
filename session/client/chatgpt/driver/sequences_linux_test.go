package driver_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/session/client/chatgpt/driver"
)

// sequences is how many random sequences of the app's screens are gone through, in so many windows.
const (
	sequences = 200
	windows   = 3
)

// TestSequences goes through screens in random orders, late, twice, with controls that are missing or
// doubled, and with some that nobody knows. Where each must end is worked out from the contract's table
// and the scenario alone.
func TestSequences(t *testing.T) {
	for first := range windows { // side by side, as most of the time is waiting
		t.Run(fmt.Sprintf("window %d", first), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, object{}, driver.Limits{})
			r.look()
			for seed := first; seed < sequences; seed += windows {
				t.Run(fmt.Sprint(seed), func(t *testing.T) { r.sequence(t, seed) })
			}
		})
	}
}

func (r *rig) sequence(t *testing.T, seed int) {
	patience := 2 * r.clear(t) // nothing is tried again
	raw := r.begin(t, fmt.Sprintf("seed=%d", seed))
	var s scenario
	must(t, json.Unmarshal(raw, &s))
	want := s.outcome()
	if want == "" { // and nothing is waited for in vain
		patience = unhurried
	}
	limits := driver.Limits{Screen: patience, Settle: 50 * time.Millisecond}
	if want == code.StateTransitionUnobserved {
		limits.FirstUI = patience
	}
	r.drive(t, limits)

	receipt, err := r.driver.Prepare(t.Context(), []driver.Surface{driver.Work, driver.Codex}[seed/windows%2])
	if code.Of(err) != want || receipt.Error != want || (receipt.Status == driver.Ready) != (want == "") {
		t.Errorf("got %v, want %q; %+v\n%s%v", err, want, receipt, raw, r.journal("click"))
	}
	if sent := r.journal("send"); len(sent) > 0 || receipt.Sent {
		t.Errorf("sent %v", sent)
	}
}

// scenario is what the app says of itself.
type scenario struct {
	Screens []faulty
	Main    faulty
}

type faulty struct {
	Kind, Title      string
	Missing, Doubled []string
}

func (f faulty) lacks(control string) bool { return slices.Contains(f.Missing, control) }
func (f faulty) wrong(control string) bool {
	return f.lacks(control) || slices.Contains(f.Doubled, control)
}

// outcome is the code that a way through the screens must end with, "" at the composer.
func (s scenario) outcome() code.Code {
	for _, f := range s.Screens {
		if c := f.outcome(); c != "" {
			return c
		}
	}
	switch {
	case len(s.Screens) == 0 && s.Main.lacks("switch"):
		return code.StateTransitionUnobserved // a composer alone is no first screen
	case s.Main.wrong("switch"):
		return code.ModeMissingOrAmbiguous
	case s.Main.wrong("composer"):
		return code.ComposerMissingOrAmbiguous
	case s.Main.wrong("send"):
		return code.SendMissingOrAmbiguous
	}
	return ""
}

// outcome is the code that the way ends with on this screen, "" if it goes on. A screen without what it's
// known by is unknown.
func (f faulty) outcome() code.Code {
	switch f.Kind {
	case "profession":
		switch {
		case f.lacks("engineering"):
			return code.StateTransitionUnobserved
		case f.wrong("engineering"):
			return code.ProfessionAmbiguous
		case f.wrong("continue"):
			return code.ContinueMissingOrAmbiguous
		}
	case "examples":
		switch {
		case f.lacks("note"), f.lacks("chart"):
			return code.StateTransitionUnobserved
		case f.wrong("note"), f.wrong("chart"), f.wrong("skip"):
			return code.SkipMissingOrAmbiguous
		}
	case "confirm":
		switch {
		case f.lacks("goToChatGPT"):
			return code.StateTransitionUnobserved
		case f.wrong("goToChatGPT"), f.wrong("keepSettingUp"):
			return code.IntroConfirmationAmbiguous
		}
	case "announcement":
		if f.wrong("keepModel") {
			return code.ActionMissingOrAmbiguous
		}
	default:
		return code.StateTransitionUnobserved
	}
	return ""
}
