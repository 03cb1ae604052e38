package driver_test

import (
	"crypto/sha256"
	"fmt"
	"net/url"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/codetest"
	"github.com/berth-run/berth/session/client/chatgpt/driver"
)

type object = map[string]any

// done is an action of a receipt without its time.
type done struct{ Step, Name, Action string }

func steps(r driver.Receipt) []done {
	var all []done
	for _, a := range r.Steps {
		all = append(all, done{a.Step, a.Name, a.Action})
	}
	return all
}

// TestFirstRunAndTwoPrompts is the main path, on the other surface than the app starts with: all screens,
// a late route of the app's own, and two prompts, the second where the first one's thread is.
func TestFirstRunAndTwoPrompts(t *testing.T) {
	if _, err := os.Stat(codexPath()); err != nil {
		t.Skip("needs the real Codex: set BERTH_CODEX to what scripts/codex prints")
	}
	r := newRig(t, object{}, driver.Limits{})
	r.look()
	route := 2 * r.clear(t) // later than the main screen's surface is changed, however slow this machine is
	r.begin(t, "file="+url.QueryEscape(r.write("next.json", object{
		"screens": []object{
			{"kind": "profession", "stale": true, "delayMs": 100}, {"kind": "examples", "delayMs": 100}, {"kind": "confirm"},
			{"kind": "announcement", "delayMs": 100},
		},
		"main":    object{"setupRouteMs": route.Milliseconds(), "backticks": "code"},
		"handoff": object{"settleMs": 100},
	})))
	r.drive(t, driver.Limits{Settle: 2 * route})

	receipt, err := r.driver.Prepare(t.Context(), driver.Codex)
	r.check(t, receipt, err, driver.Ready, "")
	want := []done{
		{"profession", "Engineering", "pointer"},
		{"continue", "Continue", "press"},
		{"examples", "Skip", "press"},
		{"confirmation", "Go to ChatGPT", "press"},
		{"announcement", "Continue with current model", "press"},
		{"mode", "Switch mode, current mode: ChatGPT Work", "open"},
		{"menu", "Codex Build, debug, and ship", "select"},
		{"draft-open", "", "open"},
	}
	if d := cmp.Diff(want, steps(receipt)); d != "" {
		t.Error(d)
	}
	if sent := r.journal("send"); len(sent) > 0 {
		t.Errorf("sent %v", sent)
	}
	for _, prompt := range []string{"Grüße & 漢字:\n\nfour `words` + 100 % 🙂", "again"} {
		before := len(r.journal("send"))
		receipt, err := r.driver.Submit(t.Context(), driver.Codex, prompt)
		r.check(t, receipt, err, driver.Submitted, "")
		want := []done{{"draft-open", "", "open"}, {"send", "Send", "press"}}
		if d := cmp.Diff(want, steps(receipt)); d != "" || receipt.ActionCount != 2 {
			t.Errorf("%d actions: %s", receipt.ActionCount, d)
		}
		sent := r.journal("send")[before:]
		if len(sent) != 1 || sent[0].Text != prompt || sent[0].Surface != "Codex" {
			t.Errorf("sent %+v", sent)
		}
		if receipt.App != "stand-in" {
			t.Errorf("it's taken for %q", receipt.App)
		}
	}
}

// check fails the test unless a receipt and its error say the same, and that.
func (r *rig) check(t *testing.T, receipt driver.Receipt, err error, status driver.Status, c code.Code) {
	t.Helper()
	if receipt.Status != status || receipt.Error != c || code.Of(err) != c || (err == nil) != (c == "") {
		t.Errorf("got %v and %+v, want %s %s", err, receipt, status, c)
		if receipt.DraftState != nil {
			t.Logf("%+v", *receipt.DraftState)
		}
		r.show()
		return
	}
	codetest.Saw(t, c)
}

// TestSubmit: what becomes of a prompt in an app that has its ways.
func TestSubmit(t *testing.T) {
	r := newRig(t, object{}, driver.Limits{})
	r.look()
	const prompt = "one `two` three"
	for name, tc := range map[string]struct {
		scenario object
		wanted   driver.Surface
		status   driver.Status
		code     code.Code
		step     driver.Step
		actions  int
		sent     bool
	}{
		"shown":              {object{}, driver.Work, driver.Submitted, "", "", 2, true},
		"late":               {object{"handoff": object{"settleMs": 400}}, driver.Work, driver.Submitted, "", "", 2, true},
		"code":               {object{"main": object{"backticks": "code"}}, driver.Work, driver.Submitted, "", "", 2, true},
		"surface":            {object{"surface": "Codex"}, driver.Codex, driver.Submitted, "", "", 2, true},
		"mode corrected":     {object{"handoff": object{"surface": "Codex"}}, driver.Work, driver.Submitted, "", "", 4, true},
		"another surface":    {object{"surface": "Codex"}, driver.Work, driver.Failed, code.SurfaceMismatch, driver.DraftOpen, 0, false},
		"lost":               {object{"handoff": object{"draft": "lost"}}, driver.Work, driver.Failed, code.DraftPromptNotApplied, driver.DraftOpen, 1, false},
		"ignored":            {object{"handoff": object{"ignored": true}}, driver.Work, driver.Failed, code.DraftPromptNotApplied, driver.DraftOpen, 1, false},
		"altered":            {object{"handoff": object{"draft": "altered", "altered": "one two"}}, driver.Work, driver.Failed, code.StateTransitionUnobserved, driver.DraftOpen, 1, false},
		"no composer":        {object{"main": object{"missing": []string{"composer"}}}, driver.Work, driver.Failed, code.ComposerMissingOrAmbiguous, driver.DraftOpen, 1, false},
		"two composers":      {object{"main": object{"doubled": []string{"composer"}}}, driver.Work, driver.Failed, code.ComposerMissingOrAmbiguous, driver.DraftOpen, 1, false},
		"no switch":          {object{"main": object{"missing": []string{"switch"}}}, driver.Work, driver.Failed, code.ModeMissingOrAmbiguous, driver.DraftSurface, 1, false},
		"two switches":       {object{"main": object{"doubled": []string{"switch"}}}, driver.Work, driver.Failed, code.ModeMissingOrAmbiguous, driver.DraftSurface, 1, false},
		"no Send":            {object{"main": object{"missing": []string{"send"}}}, driver.Work, driver.Failed, code.SendMissingOrAmbiguous, driver.Send, 1, false},
		"two Send":           {object{"main": object{"doubled": []string{"send"}}}, driver.Work, driver.Failed, code.SendMissingOrAmbiguous, driver.Send, 1, false},
		"another screen":     {object{"screens": []object{{"kind": "unknown", "title": "News"}}}, driver.Work, driver.Failed, code.StateTransitionUnobserved, driver.DraftOpen, 1, false},
		"no effect":          {object{"main": object{"dead": []string{"send"}}}, driver.Work, driver.Failed, code.ActionAcknowledgementUncertain, driver.Send, 2, true},
		"no such mode":       {object{"handoff": object{"surface": "Codex"}, "main": object{"missing": []string{"work"}}}, driver.Work, driver.Failed, code.SurfaceItemAmbiguous, driver.DraftSurface, 2, false},
		"mode stays":         {object{"handoff": object{"surface": "Codex"}, "main": object{"dead": []string{"work"}}}, driver.Work, driver.Failed, code.StateTransitionUnobserved, driver.DraftSurface, 3, false},
		"second start fails": {object{"handoff": object{"exit": 3}}, driver.Work, driver.Failed, code.OpenFailed, driver.DraftOpen, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			patience := r.restart(t, tc.scenario)
			r.arrive(t)
			r.drive(t, limitsOf(tc.code, tc.step, patience))
			receipt, err := r.driver.Submit(t.Context(), tc.wanted, prompt)
			r.check(t, receipt, err, tc.status, tc.code)
			if receipt.Step != tc.step || receipt.ActionCount != tc.actions || receipt.Sent != tc.sent {
				t.Errorf("got step %q, %d actions, sent %v; %+v", receipt.Step, receipt.ActionCount, receipt.Sent, receipt)
			}
			clicks := 0
			for _, c := range r.journal("click") {
				if c.Control == "send" {
					clicks++
				}
				if c.Key {
					t.Errorf("a key did %+v", c)
				}
			}
			if want := map[bool]int{true: 1}[tc.sent]; clicks != want {
				t.Errorf("Send was activated %d times, want %d", clicks, want)
			}
		})
	}
}

// limitsOf are short where a Submit waits in vain, and nowhere else.
func limitsOf(c code.Code, at driver.Step, patience time.Duration) (l driver.Limits) {
	switch {
	case c == "":
		return l
	case at == driver.DraftOpen:
		l.Draft = patience
	default:
		l.Screen = patience
	}
	if c == code.DraftPromptNotApplied { // by what was there before
		l.Observe = unhurried
	}
	return l
}

// TestDraftState: what a receipt tells of a draft that isn't the prompt, and what it doesn't.
func TestDraftState(t *testing.T) {
	const secret = "höchst\n\ngeheim"
	r := newRig(t, object{}, driver.Limits{})
	r.look()
	patience := r.restart(t, object{"handoff": object{"draft": "altered", "altered": secret}})
	r.arrive(t)
	r.drive(t, driver.Limits{Draft: patience})
	receipt, err := r.driver.Submit(t.Context(), driver.Work, "public")
	r.check(t, receipt, err, driver.Failed, code.StateTransitionUnobserved)
	want := &driver.DraftState{
		ObservedSurface: driver.Work, ComposerRootCount: 1, SendControlCount: 1, TextReadable: true,
		TextLength:          14,
		EmbeddedObjectCount: 3, NewlineCount: 2,
	}
	if receipt.DraftState == nil {
		t.Fatal("it tells nothing of the draft")
	}
	screen := receipt.DraftState.Screen
	if screen.NodeCount < 10 || screen.VisibleButtonCount < 2 || screen.VisibleFrameCount != 1 || !slices.Contains(screen.KnownLabels, "Send") {
		t.Errorf("%+v", screen) // the window's own parts count
	}
	want.TextSHA256, want.Screen = hash(secret), screen
	if d := cmp.Diff(want, receipt.DraftState); d != "" {
		t.Error(d)
	}
}

func hash(s string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(s))) }
