package main

import (
	"fmt"
	"slices"
	"testing"

	"github.com/berth-run/berth/session/atspi"
	"github.com/berth-run/berth/session/client/rollout"
	"github.com/berth-run/berth/session/x11"
)

const script = `{"rules": [{"steps": [{"text": "Four words in all."}]}]}`

// everything is what the app shows a fresh profile, without its delays.
const everything = `{
  "screens": [{"kind": "profession", "stale": true}, {"kind": "examples"}, {"kind": "confirm"}, {"kind": "announcement"}],
  "handoff": {"settleMs": 50}}`

// clickOn moves the pointer to a node and clicks, as the driver has to.
func (r *rig) clickOn(n *atspi.Node) {
	r.t.Helper()
	at, err := r.app.Extents(r.t.Context(), n, atspi.OfScreen)
	must(r.t, err)
	must(r.t, r.display.Click(r.t.Context(), int(at.X+at.Width/2), int(at.Y+at.Height/2), x11.Left))
}

// pass goes through the first-run screens.
func (r *rig) pass() {
	r.t.Helper()
	radio := r.one(atspi.Query{Roles: []atspi.Role{atspi.RoleRadioButton}, Names: []string{"Engineering"}, States: atspi.Actionable})
	must(r.t, r.app.Do(r.t.Context(), radio, "check", "click", "press"))
	r.journalled("click", line{Control: "engineering"})
	if first := r.lines("click")[0]; first.Pointer {
		r.t.Error("an accessible action passes for a pointer")
	}
	r.count(1, named("Continue"))
	if r.one(named("Continue")).States.Has(atspi.StateEnabled) {
		r.t.Error("an accessible action chose the profession")
	}
	r.clickOn(radio)
	r.press("Continue", "press", "click")
	r.one(button("Leave a note on my Desktop"))
	r.one(button("Turn this spreadsheet into a chart"))
	r.press("Skip", "press", "click")
	r.one(button("Keep setting up"))
	r.press("Go to ChatGPT", "press", "click")
	r.press("Continue with current model", "press", "click")
	r.one(composer)
}

// journalled waits until the journal has an event like want, of the newest scenario.
func (r *rig) journalled(event string, want line) {
	r.t.Helper()
	r.poll(fmt.Sprintf("%s %+v in the journal", event, want), func() bool {
		scenarios := r.lines("scenario")
		return slices.ContainsFunc(r.lines(event), func(l line) bool {
			return (l.Run == 0 || l.Run == scenarios[len(scenarios)-1].Run) && (want.Control == "" || l.Control == want.Control) && (want.Screen == "" || l.Screen == want.Screen)
		})
	})
}

func TestFirstRunToAnswer(t *testing.T) {
	r := newRig(t, desk(t))
	r.withCodex(script)
	r.start(everything)
	r.find()
	r.pass()

	const prompt = "Say it in Grüße & 漢字:\n\nfour `words` + 100 %"
	r.ask(prompt, rollout.MatchExact, "codex_work_desktop")
}

// ask hands a prompt over and sends it, and looks for its record.
func (r *rig) ask(prompt string, match rollout.Match, originator string) {
	r.t.Helper()
	sent := len(r.lines("send"))
	before, err := rollout.TakeSnapshot(r.codexHome())
	must(r.t, err)
	r.handOff(prompt)
	r.awaitDraft(prompt)
	r.press("Send", "press", "click")
	r.await("the answer", func(tree *atspi.Tree) bool {
		return len(tree.Find(atspi.Query{Roles: []atspi.Role{atspi.RoleStatic}, Names: []string{"Four words in all."}})) == 1 &&
			len(tree.Find(composer)) == 0 && len(tree.Find(button("Send"))) == 0
	})
	binder := rollout.NewBinder(before, rollout.Criteria{Originator: originator, Prompt: prompt, Allowed: []rollout.Match{match}})
	var bound *rollout.Bound
	r.poll("the record", func() bool {
		if bound == nil {
			bound, err = binder.Poll()
		} else {
			_, err = bound.Rollout.Poll()
		}
		must(r.t, err)
		return bound != nil && bound.Turn.Done()
	})
	lines := r.lines("send")
	if len(lines) != sent+1 || lines[sent].Text != prompt || lines[sent].Path != r.workspace() {
		r.t.Errorf("sent %+v", lines[sent:])
	}
}

// Each surface is a client of its own to Codex, and a prompt can come there changed.
func TestTurns(t *testing.T) {
	r := newRig(t, desk(t))
	r.withCodex(script)
	r.start(`{}`)
	r.find()
	r.one(composer)
	const prompt = "Four_words *in* all?"
	r.ask(prompt, rollout.MatchExact, "codex_work_desktop")
	r.handOff("")
	r.awaitDraft("")
	r.switchFrom("ChatGPT Work", "Codex")
	r.ask(prompt, rollout.MatchExact, "Codex Desktop")
	r.restart(`{"surface": "Codex", "send": {"prompt": "escaped"}}`)
	r.one(composer)
	r.ask(prompt, rollout.MatchMarkdownEscaped, "Codex Desktop")
	r.restart(`{"send": {"prompt": "newline", "delayMs": 100}}`)
	r.one(composer)
	r.ask(prompt, rollout.MatchTerminalLF, "codex_work_desktop")
}

// A Send without effect is a click and no more.
func TestDeadSend(t *testing.T) {
	r := newRig(t, desk(t))
	r.start(`{"main": {"dead": ["send"]}}`)
	r.find()
	r.one(composer)
	r.handOff("say")
	r.awaitDraft("say")
	r.press("Send", "press")
	r.journalled("click", line{Control: "send"})
	r.one(button("Send"))
	if sent := r.lines("send"); len(sent) > 0 {
		t.Errorf("sent %+v", sent)
	}
}
