package driver

import (
	"slices"
	"strings"

	"github.com/berth-run/berth/session/atspi"
)

// find gives the controls that are what c says and in all of the states, in the order of the document.
func (c Control) find(t *atspi.Tree, states atspi.States) []*atspi.Node {
	q := atspi.Query{Roles: c.Roles, States: states}
	if c.Label != "" && !c.Begins {
		q.Names = []string{c.Label}
	}
	found := t.Find(q)
	if c.Begins {
		found = slices.DeleteFunc(found, func(n *atspi.Node) bool { return !strings.HasPrefix(n.Name, c.Label) })
	}
	return found
}

// onScreen tells how many there are to be seen.
func (c Control) onScreen(t *atspi.Tree) int { return len(c.find(t, atspi.Available)) }

// one is the only one that can be acted on; nil if there is none, or several are.
func (c Control) one(t *atspi.Tree) *atspi.Node {
	if found := c.find(t, atspi.Actionable); len(found) == 1 {
		return found[0]
	}
	return nil
}

// composers are the editors that aren't part of another.
func (c *Controls) composers(t *atspi.Tree) []*atspi.Node {
	return atspi.Outermost(t.Find(atspi.Query{
		Roles: c.Editor.Roles, States: atspi.Available | atspi.StateEditable, Interfaces: atspi.HasText,
	}))
}

// surfaces are the surfaces that mode switches on screen show; there should be one.
func (c *Controls) surfaces(t *atspi.Tree) []Surface {
	var on []Surface
	for _, s := range []Surface{Work, Codex} {
		on = append(on, slices.Repeat([]Surface{s}, c.Switch[s].onScreen(t))...)
	}
	return on
}

// numbers are a tree in numbers, with those of its names that may be told.
func (c *Controls) numbers(t *atspi.Tree) Screen {
	s := Screen{NodeCount: len(t.Nodes), KnownLabels: []string{}}
	for _, n := range t.Find(atspi.Query{States: atspi.Available}) {
		switch n.Role {
		case atspi.RoleButton:
			s.VisibleButtonCount++
		case atspi.RoleFrame:
			s.VisibleFrameCount++
		case atspi.RoleDialog:
			s.DialogCount++
		}
		if slices.Contains(c.Labels, n.Name) && !slices.Contains(s.KnownLabels, n.Name) {
			s.KnownLabels = append(s.KnownLabels, n.Name)
		}
	}
	slices.Sort(s.KnownLabels)
	return s
}
