package driver

import (
	"slices"

	"github.com/berth-run/berth/session/atspi"
)

// Names of the two things that a person looks for beside the screens of the table.
const (
	composerScreen = "composer"
	menuScreen     = "menu"
)

// Reading is one look at an app held against the table, as a person would: which screen this is, though
// not all of it is there, and what of it isn't as it should be. A walk acts on no such reading.
type Reading struct {
	// Screen is the one that lies over the others; "" is one that isn't known.
	Screen string
	// Lacking aren't there, Doubled are more than once, Disabled can't be used.
	Lacking, Doubled, Disabled []Part
	// Strangers are the headings, and the controls that can be acted on, that the table doesn't have.
	Strangers []*atspi.Node
}

// Part is a control as the table has it, by the screen that it belongs to.
type Part struct {
	Screen string
	Control
	// key tells it from others of the table; free: it may be there several times, or unusable.
	key  string
	free bool
}

// Name is what a person calls it.
func (p Part) Name() string {
	if p.Label == "" {
		return "the composer"
	}
	return p.Label
}

// parts are all controls of the table, screen by screen, as they lie over each other.
func (c *Controls) parts() []Part {
	return []Part{
		{Screen: "announcement", Control: c.Announcement, key: "announcement", free: true},
		{Screen: "announcement", Control: c.KeepModel, key: "keepModel"},
		{Screen: "confirmation", Control: c.GoToChatGPT, key: "goToChatGPT"},
		{Screen: "confirmation", Control: c.KeepSettingUp, key: "keepSettingUp"},
		{Screen: "examples", Control: c.LeaveNote, key: "leaveNote"},
		{Screen: "examples", Control: c.Spreadsheet, key: "spreadsheet"},
		{Screen: "examples", Control: c.Skip, key: "skip"},
		{Screen: "profession", Control: c.Engineering, key: "engineering"},
		{Screen: "profession", Control: c.Continue, key: "continue", free: true}, // until something is chosen
		{Screen: menuScreen, Control: c.Item[Work], key: "item " + string(Work)},
		{Screen: menuScreen, Control: c.Item[Codex], key: "item " + string(Codex)},
		{Screen: composerScreen, Control: c.Switch[Work], key: switchKey(Work)},
		{Screen: composerScreen, Control: c.Switch[Codex], key: switchKey(Codex)},
		{Screen: composerScreen, Control: c.Editor, key: "editor"},
		{Screen: composerScreen, Control: c.Send, key: "send"},
	}
}

// layers are the screens as they lie over each other.
var layers = []string{"announcement", "confirmation", "examples", "profession", menuScreen, composerScreen}

// Read reads a tree by the controls of the app that knows most of it.
func Read(t *atspi.Tree) Reading {
	var best *Controls
	most := -1
	for _, row := range Known {
		if n := len(row.Controls.known(t)); n > most {
			best, most = row.Controls, n
		}
	}
	return best.read(t)
}

// known are the parts that are on screen.
func (c *Controls) known(t *atspi.Tree) []Part {
	return slices.DeleteFunc(c.parts(), func(p Part) bool { return c.count(t, p) == 0 })
}

// count tells how many of a part are on screen.
func (c *Controls) count(t *atspi.Tree, p Part) int {
	if p.key == "editor" {
		return len(c.composers(t))
	}
	return p.onScreen(t)
}

func (c *Controls) read(t *atspi.Tree) Reading {
	r := Reading{Strangers: c.strangers(t)}
	known := c.known(t)
	for _, layer := range layers {
		if c.shows(t, layer, known) {
			r.Screen = layer
			break
		}
	}
	for _, p := range c.parts() {
		if p.Screen == r.Screen {
			r.judge(c, t, p)
		}
	}
	r.oneSwitch()
	return r
}

// shows tells whether a screen is there: by any part of it, or by what only it has.
func (c *Controls) shows(t *atspi.Tree, layer string, known []Part) bool {
	has := func(key string) bool {
		return slices.ContainsFunc(known, func(p Part) bool { return p.key == key })
	}
	switch layer {
	case "profession": // a Continue may be anywhere
		return has("engineering") || has("continue") && len(t.Find(atspi.Query{Roles: choices, States: atspi.Available})) > 1
	case "examples": // so may a Skip
		return has("leaveNote") || has("spreadsheet")
	case menuScreen:
		return len(onPage(t, atspi.Query{Roles: items, States: atspi.Available})) > 0
	}
	return slices.ContainsFunc(known, func(p Part) bool { return p.Screen == layer })
}

func (r *Reading) judge(c *Controls, t *atspi.Tree, p Part) {
	switch n := c.count(t, p); {
	case n == 0:
		r.Lacking = append(r.Lacking, p)
	case p.free:
	case n > 1:
		r.Doubled = append(r.Doubled, p)
	case p.key != "editor" && p.one(t) == nil:
		r.Disabled = append(r.Disabled, p)
	}
}

// oneSwitch: of the two modes' switches one is enough, and the other isn't lacking.
func (r *Reading) oneSwitch() {
	n := 0
	for _, p := range r.Lacking {
		if isSwitch(p) {
			n++
		}
	}
	if n == 1 {
		r.Lacking = slices.DeleteFunc(r.Lacking, isSwitch)
	}
}

// strangers are the page's headings and controls with a name that no part has.
func (c *Controls) strangers(t *atspi.Tree) []*atspi.Node {
	q := atspi.Query{Roles: slices.Concat(titles, buttons, choices, items), States: atspi.Available}
	return slices.DeleteFunc(onPage(t, q), func(n *atspi.Node) bool {
		return n.Name == "" || slices.ContainsFunc(c.parts(), func(p Part) bool { return p.is(n) })
	})
}

// is tells whether a node has a control's role and label.
func (c Control) is(n *atspi.Node) bool {
	return len(c.find(&atspi.Tree{Nodes: []*atspi.Node{n}}, 0)) > 0
}

// onPage finds below a window's document, where there is one: the browser's own buttons are no app's.
func onPage(t *atspi.Tree, q atspi.Query) []*atspi.Node {
	in := pages(t)
	if len(in) == 0 {
		return t.Find(q)
	}
	var found []*atspi.Node
	for _, p := range in {
		q.Within = p
		found = append(found, t.Find(q)...)
	}
	return found
}

// pages are the documents of an app's windows.
func pages(t *atspi.Tree) []*atspi.Node {
	return t.Find(atspi.Query{Roles: []atspi.Role{atspi.RoleDocumentWeb}, States: atspi.Available})
}

// Asking finds what on an app's page offers to sign in, or to allow something: only a person could use it.
func Asking(t *atspi.Tree) []*atspi.Node {
	q := atspi.Query{Roles: append([]atspi.Role{atspi.RoleLink}, buttons...), States: atspi.Available}
	return slices.DeleteFunc(onPage(t, q), func(n *atspi.Node) bool {
		return !slices.ContainsFunc(Known, func(a App) bool { return a.Controls.asksBy(n.Name) })
	})
}

func (c *Controls) asksBy(label string) bool {
	return slices.ContainsFunc(slices.Concat(c.SignIn, c.Permission, c.Beside), func(b Control) bool { return b.Label == label })
}

// IsLabel tells whether a name is, to the letter, one that the table knows some app's controls by.
func IsLabel(name string) bool {
	return name != "" && slices.ContainsFunc(Known, func(a App) bool { return a.Controls.labels(name) })
}

func (c *Controls) labels(name string) bool {
	return slices.Contains(c.Labels, name) || c.asksBy(name) ||
		slices.ContainsFunc(c.parts(), func(p Part) bool { return p.Label == name })
}
