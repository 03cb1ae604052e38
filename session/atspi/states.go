package atspi

import (
	"math/bits"
	"strings"
)

// States is a set of states (AtspiStateType in atspi-constants.h), as AT-SPI sends it in two words.
type States uint64

// The states.
const (
	StateInvalid States = 1 << iota
	StateActive
	StateArmed
	StateBusy
	StateChecked
	StateCollapsed
	StateDefunct
	StateEditable
	StateEnabled
	StateExpandable
	StateExpanded
	StateFocusable
	StateFocused
	StateHasTooltip
	StateHorizontal
	StateIconified
	StateModal
	StateMultiLine
	StateMultiselectable
	StateOpaque
	StatePressed
	StateResizable
	StateSelectable
	StateSelected
	StateSensitive
	StateShowing
	StateSingleLine
	StateStale
	StateTransient
	StateVertical
	StateVisible
	StateManagesDescendants
	StateIndeterminate
	StateRequired
	StateTruncated
	StateAnimated
	StateInvalidEntry
	StateSupportsAutocompletion
	StateSelectableText
	StateIsDefault
	StateVisited
	StateCheckable
	StateHasPopup
	StateReadOnly
)

const (
	// Available: on screen.
	Available = StateShowing | StateVisible
	// Actionable: on screen and ready to be acted on.
	Actionable = Available | StateEnabled | StateSensitive
	// Writable: an editor on screen that takes text. LibreOffice's are never said to be sensitive.
	Writable = Available | StateEnabled | StateEditable
)

// Has tells whether all of want are in s.
func (s States) Has(want States) bool { return s&want == want }

// String lists the states, as "enabled showing visible".
func (s States) String() string {
	var names []string
	for ; s != 0; s &= s - 1 {
		if i := bits.TrailingZeros64(uint64(s)); i < len(stateNames) {
			names = append(names, stateNames[i])
		}
	}
	return strings.Join(names, " ")
}

// stateNames are all names in the order of their bits.
var stateNames = [...]string{
	"invalid", "active", "armed", "busy", "checked", "collapsed", "defunct", "editable", "enabled",
	"expandable", "expanded", "focusable", "focused", "has tooltip", "horizontal", "iconified", "modal",
	"multi line", "multiselectable", "opaque", "pressed", "resizable", "selectable", "selected", "sensitive",
	"showing", "single line", "stale", "transient", "vertical", "visible", "manages descendants",
	"indeterminate", "required", "truncated", "animated", "invalid entry", "supports autocompletion",
	"selectable text", "is default", "visited", "checkable", "has popup", "read only",
}

// states joins the words of a state set. What is sensitive is enabled, which GTK 4 doesn't say besides.
func states(words []uint32) States {
	var s States
	for i, w := range words[:min(2, len(words))] {
		s |= States(w) << (32 * i)
	}
	if s.Has(StateSensitive) {
		s |= StateEnabled
	}
	return s
}
