package driver

import (
	"maps"
	"slices"
	"strings"

	"github.com/berth-run/berth/session/atspi"
)

// likest is the name of the stranger that is most like a control: one of its roles that isn't taken for
// another. Between such that have nothing in common with its label, the first of the page.
func likest(c Control, strangers []*atspi.Node, taken []string) string {
	name, most := "", -1.0
	for _, n := range strangers {
		if !slices.Contains(c.Roles, n.Role) || slices.Contains(taken, n.Name) {
			continue
		}
		if like := likeness(c.Label, n.Name); like > most {
			name, most = n.Name, like
		}
	}
	return name
}

// likeness of two texts is that of the pairs of letters in them: 1 for the same, 0 for none in common
// (Dice's coefficient).
func likeness(a, b string) float64 {
	in, of := pairs(a), pairs(b)
	if len(in)+len(of) == 0 {
		return 0
	}
	common := 0
	for _, p := range in {
		if i := slices.Index(of, p); i >= 0 {
			common++
			of[i] = ""
		}
	}
	return 2 * float64(common) / float64(len(in)+len(of))
}

// pairs are the pairs of neighbouring letters in a text's words.
func pairs(text string) []string {
	var all []string
	for _, word := range strings.Fields(strings.ToLower(text)) {
		r := []rune(word)
		for i := range r[1:] {
			all = append(all, string(r[i:i+2]))
		}
	}
	return all
}

const switchPrefix = "switch "

func switchKey(s Surface) string { return switchPrefix + string(s) }

func isSwitch(p Part) bool { return strings.HasPrefix(p.key, switchPrefix) }

// clone is a copy whose controls can be set.
func (c *Controls) clone() *Controls {
	other := *c
	other.Switch, other.Item = maps.Clone(c.Switch), maps.Clone(c.Item)
	return &other
}

// set puts a control in the place of the part with a key.
func (c *Controls) set(key string, to Control) {
	places := map[string]*Control{
		"announcement": &c.Announcement, "keepModel": &c.KeepModel, "goToChatGPT": &c.GoToChatGPT,
		"keepSettingUp": &c.KeepSettingUp, "leaveNote": &c.LeaveNote, "spreadsheet": &c.Spreadsheet,
		"skip": &c.Skip, "engineering": &c.Engineering, "continue": &c.Continue, "send": &c.Send,
	}
	if at := places[key]; at != nil {
		*at = to
		return
	}
	for _, s := range []Surface{Work, Codex} {
		switch key {
		case switchKey(s):
			c.Switch[s] = to
		case "item " + string(s):
			c.Item[s] = to
		}
	}
}
