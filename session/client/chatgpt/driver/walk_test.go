package driver

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/session/atspi"
)

// shown makes a tree of controls, written as "role:name"; "-" before it is a disabled one, "." one that's
// hidden. A name says which object it is: the same one twice gets a number, other with "#2" after it is
// another object in the same place of the tree.
func shown(controls ...string) *atspi.Tree {
	root := &atspi.Node{Role: atspi.RoleApplication}
	frame := &atspi.Node{Role: atspi.RoleFrame, Parent: root, States: atspi.Actionable}
	t := &atspi.Tree{Nodes: []*atspi.Node{root, frame}}
	for i, c := range controls {
		n := &atspi.Node{States: atspi.Actionable, Parent: frame, Interfaces: atspi.HasAction}
		switch {
		case strings.HasPrefix(c, "-"):
			n.States = atspi.Available
		case strings.HasPrefix(c, "."):
			n.States = atspi.StateEnabled | atspi.StateSensitive
		}
		id := strings.TrimLeft(c, "-.")
		if slices.Contains(controls[:i], c) {
			id += "again"
		}
		role, name, _ := strings.Cut(strings.TrimLeft(c, "-."), ":")
		n.Name, _, _ = strings.Cut(name, "#")
		n.Role = roles[role]
		n.Ref = atspi.Ref{Bus: ":1.1", Path: dbus.ObjectPath("/" + id)}
		if role == "editor" {
			n.States |= atspi.StateEditable
			n.Interfaces = atspi.HasText
		}
		frame.Children = append(frame.Children, n)
		t.Nodes = append(t.Nodes, n)
	}
	return t
}

var roles = map[string]atspi.Role{
	"button": atspi.RoleButton, "radio": atspi.RoleRadioButton, "toggle": atspi.RoleToggleButton, "item": atspi.RoleMenuItem,
	"editor": atspi.RoleEntry, "dialog": atspi.RoleDialog, "heading": atspi.RoleHeading, "static": atspi.RoleStatic,
}

const (
	onWork    = "button:Switch mode, current mode: ChatGPT Work"
	onCodex   = "button:Switch mode, current mode: Codex"
	toWork    = "item:ChatGPT Work Create, learn, and explore"
	toCodex   = "item:Codex Build, debug, and ship"
	engineer  = "radio:Engineering"
	note      = "button:Leave a note on my Desktop"
	chart     = "button:Turn this spreadsheet into a chart"
	intro     = "heading:Introducing a new model"
	keepModel = "button:Continue with current model"
	goOn      = "button:Go to ChatGPT"
	keepOn    = "button:Keep setting up"
)

// way is a walk to the composer of Work as of its start.
func way() *walk {
	r := &run{Driver: &Driver{limits: defaults}, wanted: Work, controls: &english, phase: WaitingForInitialUI}
	return newWalk(r, append(firstRun(r.controls), modeSwitch(r.controls, r.wanted)...), r.atComposer, time.Now())
}

// did is w after it acted on a screen's control.
func did(w *walk, name, id string) *walk {
	for i := range w.screens {
		if w.screens[i].name == name {
			w.did(&w.screens[i], atspi.Ref{Bus: ":1.1", Path: dbus.ObjectPath("/" + id)})
			w.phase = w.screens[i].phase
		}
	}
	return w
}

// TestLook: what one look at a screen comes to.
func TestLook(t *testing.T) {
	type result struct {
		Screen string
		Acts   string // on the object
		Code   code.Code
		Phase  Phase
	}
	reached := result{Screen: "composer", Phase: AtComposer}
	chosen := func() *walk { return did(way(), "profession", engineer) }
	for name, tc := range map[string]struct {
		w    *walk
		tree *atspi.Tree
		want result
	}{
		"nothing":                       {way(), shown(), result{"unknown", "", code.StateTransitionUnobserved, WaitingForInitialUI}},
		"an editor alone":               {way(), shown("editor:", "button:Send"), result{"unknown", "", code.StateTransitionUnobserved, WaitingForInitialUI}},
		"sign-in":                       {way(), shown("button:Log in", "button:Sign in"), result{"unknown", "", code.StateTransitionUnobserved, WaitingForInitialUI}},
		"profession":                    {way(), shown(engineer, "radio:Design", "-button:Continue"), result{"profession", engineer, code.ProfessionAmbiguous, ProfessionSelected}},
		"profession, toggles":           {way(), shown("toggle:Engineering"), result{"profession", "toggle:Engineering", code.ProfessionAmbiguous, ProfessionSelected}},
		"profession, a button":          {way(), shown("button:Engineering"), result{"unknown", "", code.StateTransitionUnobserved, WaitingForInitialUI}},
		"profession, hidden":            {way(), shown("." + engineer), result{"unknown", "", code.StateTransitionUnobserved, WaitingForInitialUI}},
		"profession, disabled":          {way(), shown("-" + engineer), result{"profession", "", code.ProfessionAmbiguous, ProfessionSelected}},
		"profession, two":               {way(), shown(engineer, engineer), result{"profession", "", code.ProfessionAmbiguous, ProfessionSelected}},
		"chosen, Continue disabled":     {chosen(), shown(engineer, "-button:Continue"), result{"profession, done", "", code.ContinueMissingOrAmbiguous, ProfessionSelected}},
		"chosen, Continue":              {chosen(), shown(engineer, "button:Continue"), result{"continue", "button:Continue", code.ContinueMissingOrAmbiguous, ContinueReady}},
		"chosen, two Continue":          {chosen(), shown(engineer, "button:Continue", "button:Continue"), result{"profession, done", "", code.ContinueMissingOrAmbiguous, ProfessionSelected}},
		"chosen, all over again":        {chosen(), shown(engineer+"#2", "-button:Continue"), result{"profession", engineer + "#2", code.ProfessionAmbiguous, ProfessionSelected}},
		"Continue pressed, still there": {did(chosen(), "continue", "button:Continue"), shown(engineer, "button:Continue"), result{"continue, done", "", code.StateTransitionUnobserved, ContinueReady}},
		"Continue pressed, next":        {did(chosen(), "continue", "button:Continue"), shown(note, chart, "button:Skip"), result{"examples", "button:Skip", code.SkipMissingOrAmbiguous, IntroDismiss}},
		"examples, no Skip":             {way(), shown(note, chart), result{"examples", "", code.SkipMissingOrAmbiguous, IntroDismiss}},
		"examples, Skip twice":          {way(), shown(note, chart, "button:Skip", "button:Skip"), result{"examples", "", code.SkipMissingOrAmbiguous, IntroDismiss}},
		"half of the examples":          {way(), shown(note, "button:Skip"), result{"unknown", "", code.StateTransitionUnobserved, WaitingForInitialUI}},
		"Skip pressed, again":           {did(way(), "examples", "button:Skip"), shown(note, chart, "button:Skip#2"), result{"examples", "button:Skip#2", code.SkipMissingOrAmbiguous, IntroDismiss}},
		"confirmation over examples":    {did(way(), "examples", "button:Skip"), shown(note, chart, "button:Skip", goOn, keepOn), result{"confirmation", goOn, code.IntroConfirmationAmbiguous, IntroDismiss}},
		"confirmation, half":            {way(), shown(goOn), result{"confirmation", "", code.IntroConfirmationAmbiguous, IntroDismiss}},
		"announcement over composer":    {way(), shown(onWork, "editor:", "button:Send", intro, keepModel), result{"announcement", keepModel, code.ActionMissingOrAmbiguous, IntroDismiss}},
		"announcement, a dialog's name": {way(), shown("dialog:Introducing a new model", keepModel), result{"announcement", keepModel, code.ActionMissingOrAmbiguous, IntroDismiss}},
		"announcement, no way out":      {way(), shown(intro, "button:Try it now"), result{"announcement", "", code.ActionMissingOrAmbiguous, IntroDismiss}},
		"its button without it":         {way(), shown(keepModel), result{"unknown", "", code.StateTransitionUnobserved, WaitingForInitialUI}},
		"its title as text":             {way(), shown("static:Introducing a new model", keepModel), result{"unknown", "", code.StateTransitionUnobserved, WaitingForInitialUI}},
		"the other mode":                {way(), shown(onCodex, "editor:", "-button:Send"), result{"mode", onCodex, code.ModeMissingOrAmbiguous, AtSurface}},
		"both modes":                    {way(), shown(onCodex, onWork, "editor:", "button:Send"), result{"mode", "", code.ModeMissingOrAmbiguous, AtSurface}},
		"the wanted mode twice":         {way(), shown(onWork, onWork, "editor:", "button:Send"), result{"surface", "", code.ModeMissingOrAmbiguous, AtSurface}},
		"a menu that nobody opened":     {way(), shown(onWork, toWork, toCodex, "editor:", "button:Send"), reached},
		"menu":                          {did(way(), "mode", onCodex), shown(onCodex, toWork, toCodex), result{"menu", toWork, code.SurfaceItemAmbiguous, AtSurface}},
		"menu alone":                    {did(way(), "mode", onCodex), shown(toWork, toCodex), result{"menu", toWork, code.SurfaceItemAmbiguous, AtSurface}},
		"menu without it":               {did(way(), "mode", onCodex), shown(onCodex, toCodex), result{"mode, done", "", code.SurfaceItemAmbiguous, AtSurface}},
		"menu gone with the page":       {did(way(), "mode", onCodex), shown(onCodex+"#2", "editor:", "button:Send"), result{"mode", onCodex + "#2", code.ModeMissingOrAmbiguous, AtSurface}},
		"selected, not yet":             {did(did(way(), "mode", onCodex), "menu", toWork), shown(onCodex, "editor:", "button:Send"), result{"menu, done", "", code.StateTransitionUnobserved, AtSurface}},
		"selected":                      {did(did(way(), "mode", onCodex), "menu", toWork), shown(onWork, "editor:", "button:Send"), reached},
		"no composer":                   {way(), shown(onWork, "button:Send"), result{"composer", "", code.ComposerMissingOrAmbiguous, AtComposer}},
		"two composers":                 {way(), shown(onWork, "editor:", "editor:", "button:Send"), result{"composer", "", code.ComposerMissingOrAmbiguous, AtComposer}},
		"no Send":                       {way(), shown(onWork, "editor:"), result{"composer", "", code.SendMissingOrAmbiguous, AtComposer}},
		"two Send":                      {way(), shown(onWork, "editor:", "button:Send", "-button:Send"), result{"composer", "", code.SendMissingOrAmbiguous, AtComposer}},
		"composer, Send disabled":       {way(), shown(onWork, "editor:", "-button:Send"), reached},
		"a switch is missing":           {did(way(), "examples", "button:Skip"), shown("editor:", "button:Send"), result{"surface", "", code.ModeMissingOrAmbiguous, AtSurface}},
	} {
		t.Run(name, func(t *testing.T) {
			f := tc.w.look(tc.tree)
			got := result{Screen: f.name, Code: f.code, Phase: f.phase}
			if f.node != nil {
				got.Acts = strings.TrimPrefix(string(f.node.Path), "/")
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
			if want := tc.want == reached; f.reached != want {
				t.Errorf("reached: %v, want %v", f.reached, want)
			}
		})
	}
}

func TestNumbers(t *testing.T) {
	tree := shown(onWork, "button:Send", "button:Send", "button:Delete everything", "dialog:Sign in", "static:Open", ".button:Allow", "editor:Send")
	want := Screen{NodeCount: 10, VisibleButtonCount: 4, VisibleFrameCount: 1, DialogCount: 1, KnownLabels: []string{"Open", "Send", "Sign in"}}
	if d := cmp.Diff(want, english.numbers(tree)); d != "" {
		t.Error(d)
	}
	if n := len(english.Labels); n != 20 {
		t.Errorf("%d labels may be told, want 20", n)
	}
}

// TestScreens: every step of the table can fail with a code, and is told by something.
func TestScreens(t *testing.T) {
	for _, s := range append(firstRun(&english), modeSwitch(&english, Codex)...) {
		if s.name == "" || len(s.signs) == 0 || s.code == "" || s.unproved == "" || s.phase == "" || s.act.Label == "" {
			t.Errorf("incomplete: %+v", s)
		}
		if s.pointer == (len(s.act.Actions) > 0) {
			t.Errorf("%s: one way to act, by pointer or by an action", s.name)
		}
	}
}
