package cause

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berth-run/berth/session/atspi"
	"github.com/berth-run/berth/session/client/chatgpt/driver"
	"github.com/berth-run/berth/session/client/evidence"
)

// Rules on what the app's window shows, of a prompt that wasn't sent.

func appNotFound(e *Evidence) string {
	first, rest, _ := strings.Cut(e.noTree, "\n")
	own := strings.Count(rest, "the app's own: true")
	switch {
	case first == "":
		return ""
	case own > 1:
		return fmt.Sprintf("%d apps answer to the app's name on the accessibility bus, so that it isn't known which is meant.", own)
	case own == 1:
		return "The app is on the accessibility bus and tells nothing of its window."
	}
	return "The app isn't on the accessibility bus: it shows no window."
}

func blank(e *Evidence) string {
	if e.tree != nil && len(e.page(atspi.Query{})) > 0 {
		return ""
	}
	if e.picture == nil || e.tree == nil || !plain(e.picture, e.pageArea()) {
		return ""
	}
	return "The app's window is blank: it's of one colour, and nothing is in its page."
}

// page finds what has a name on the app's page.
func (e *Evidence) page(q atspi.Query) []*atspi.Node {
	if e.tree == nil {
		return nil
	}
	q.States |= atspi.Available
	pages := e.tree.Find(atspi.Query{Roles: []atspi.Role{atspi.RoleDocumentWeb}, States: atspi.Available})
	var found []*atspi.Node
	for _, p := range pages {
		q.Within = p
		found = append(found, e.tree.Find(q)...)
	}
	if len(pages) == 0 {
		found = e.tree.Find(q)
	}
	return slices.DeleteFunc(found, func(n *atspi.Node) bool { return n.Name == "" })
}

// pageArea is where the page is on screen; nil when that isn't known.
func (e *Evidence) pageArea() *atspi.Rect {
	for _, o := range e.objects {
		if o.Role == atspi.RoleDocumentWeb.String() && o.Area != nil {
			return o.Area
		}
	}
	return nil
}

func dialog(e *Evidence) string {
	if e.tree == nil {
		return ""
	}
	var labels []string
	for _, n := range driver.Asking(e.tree) {
		labels = append(labels, fmt.Sprintf("%q", n.Name))
	}
	if len(labels) == 0 {
		return ""
	}
	return fmt.Sprintf("The app asks for something that nobody is there to answer%s: it offers %s.", e.headed(), strings.Join(labels, ", "))
}

// heading is the first of the page.
func (e *Evidence) heading() string {
	for _, n := range e.page(atspi.Query{Roles: []atspi.Role{atspi.RoleHeading}}) {
		return n.Name
	}
	return ""
}

func (e *Evidence) headed() string {
	if h := e.heading(); h != "" {
		return fmt.Sprintf(" (%q)", h)
	}
	return ""
}

// reading is the page held against the driver's table; false where there is none, or the prompt was sent.
func (e *Evidence) reading() (driver.Reading, bool) {
	if _, sent := e.sent(); sent || e.tree == nil {
		return driver.Reading{}, false
	}
	return driver.Read(e.tree), true
}

func splash(e *Evidence) string {
	r, ok := e.reading()
	if !ok || r.Screen != "" || e.saw("composer") {
		return ""
	}
	acts := slices.ContainsFunc(r.Strangers, func(n *atspi.Node) bool { return n.Role != atspi.RoleHeading })
	if acts || len(r.Strangers) == 0 {
		return ""
	}
	return fmt.Sprintf("The app hasn't left its first screen, which says %q and offers nothing to do.", r.Strangers[0].Name)
}

func unknownScreen(e *Evidence) string {
	r, ok := e.reading()
	if !ok || r.Screen != "" || len(r.Strangers) == 0 {
		return ""
	}
	var offers []string
	for _, n := range r.Strangers {
		if n.Role != atspi.RoleHeading {
			offers = append(offers, fmt.Sprintf("%q", n.Name))
		}
	}
	return fmt.Sprintf("The app shows a screen that berth doesn't know%s; it offers %s.", e.headed(), strings.Join(offers, ", "))
}

func otherSurface(e *Evidence) string {
	d := e.draft()
	if _, ok := e.reading(); !ok || d == nil || e.asked == nil || d.ObservedSurface == "" || string(d.ObservedSurface) == e.asked.Surface || e.didOn("mode") {
		return ""
	}
	return fmt.Sprintf("The app is on surface %s, and %s was asked for.", d.ObservedSurface, e.asked.Surface)
}

// didOn tells whether something was done on a screen.
func (e *Evidence) didOn(screen string) bool {
	return slices.ContainsFunc(e.steps, func(s evidence.Step) bool { return s.What == evidence.Action && s.Screen == screen })
}

func controlMissing(e *Evidence) string {
	r, ok := e.reading()
	if !ok || len(r.Lacking) == 0 {
		return ""
	}
	text := fmt.Sprintf("The %s screen has no %s", r.Screen, listed(r.Lacking))
	if unknown := unfamiliar(r.Strangers); unknown != "" {
		text += "; what it has instead may be " + unknown
	}
	return text + "."
}

// listed are controls as a person calls them.
func listed(parts []driver.Part) string {
	var all []string
	for _, p := range parts {
		if p.Label == "" {
			all = append(all, "composer")
			continue
		}
		all = append(all, fmt.Sprintf("%q", p.Label))
	}
	return strings.Join(all, " or ")
}

// unfamiliar names up to three controls that no table has.
func unfamiliar(strangers []*atspi.Node) string {
	var all []string
	for _, n := range strangers {
		if n.Role != atspi.RoleHeading && len(all) < 3 {
			all = append(all, fmt.Sprintf("%q", n.Name))
		}
	}
	return strings.Join(all, ", ")
}

func controlDoubled(e *Evidence) string {
	r, ok := e.reading()
	if !ok || len(r.Doubled) == 0 {
		return ""
	}
	return fmt.Sprintf("The %s screen has more than one %s, so that it isn't known which is meant.", r.Screen, listed(r.Doubled))
}

func draftLost(e *Evidence) string {
	d := e.draft()
	_, handed := e.handoffOf(true)
	if _, ok := e.reading(); !ok || !handed || d == nil || e.asked == nil || d.ComposerRootCount != 1 || !d.TextReadable || d.TextLength-d.NewlineCount > 0 {
		return ""
	}
	if e.saw(string(driver.DraftReadback)) || e.didOn("mode") {
		return "The prompt was in the composer and is gone from it: something of the app's own opened an empty thread over it."
	}
	return "The prompt was handed to the app, and the composer stayed empty: the draft was lost."
}

func draftDiffers(e *Evidence) string {
	d := e.draft()
	_, handed := e.handoffOf(true)
	if _, ok := e.reading(); !ok || !handed || d == nil || e.asked == nil || d.ComposerRootCount != 1 || !d.TextReadable || e.holdsPrompt() {
		return ""
	}
	if d.TextLength-d.NewlineCount == e.asked.PromptLength {
		return ""
	}
	return fmt.Sprintf("The composer holds another text than the prompt: %d characters, and the prompt has %d.", d.TextLength, e.asked.PromptLength)
}

func controlDisabled(e *Evidence) string {
	r, ok := e.reading()
	if !ok || len(r.Disabled) == 0 || r.Screen == "composer" && !e.holdsPrompt() {
		return ""
	}
	return fmt.Sprintf("On the %s screen, %s is there and can't be used.", r.Screen, listed(r.Disabled))
}

func actionWithoutEffect(e *Evidence) string {
	r, ok := e.reading()
	s, did := e.last(evidence.Action)
	if !ok || !did || s.Name == "" || r.Screen == "" {
		return ""
	}
	same := s.Screen == r.Screen || s.Screen == "continue" && r.Screen == "profession" || s.Screen == "mode" && r.Screen != "menu" || s.Screen == "menu"
	if !same {
		return ""
	}
	return fmt.Sprintf("%q was activated on the %s screen, and nothing came of it.", s.Name, s.Screen)
}

func tooSlow(e *Evidence) string {
	if e.asked == nil || len(e.steps) == 0 || e.end().Sub(e.steps[0].At).Milliseconds() < e.asked.TimeoutMs {
		return ""
	}
	return fmt.Sprintf("The trial's %d s were over before anything else was wrong.", e.asked.TimeoutMs/1000)
}
