package atspi

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// maxLine bounds a line of what WriteObjects wrote, in bytes.
const maxLine = 4 << 20

// ParseObjects reads what WriteObjects wrote. Lines that aren't an object's are left out: a dump may say
// something besides.
func ParseObjects(r io.Reader) ([]Object, error) {
	var all []Object
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		if o, ok := parseObject(lines.Text()); ok {
			all = append(all, o)
		}
	}
	return all, lines.Err()
}

// parseObject reads `  role "name" 10x20+1+2 can press [states]`.
func parseObject(line string) (o Object, ok bool) {
	text := strings.TrimLeft(line, " ")
	o.Depth = (len(line) - len(text)) / len("  ")
	role, rest, ok := strings.Cut(text, ` "`)
	if !ok || !slices.Contains(roleNames[:], role) {
		return o, false
	}
	quoted, err := strconv.QuotedPrefix(`"` + rest)
	if err != nil {
		return o, false
	}
	o.Role = role
	o.Name, _ = strconv.Unquote(quoted) // it's a quoted prefix
	rest = rest[len(quoted)-1:]
	rest, states, ok := strings.Cut(rest, " [")
	if !ok || !strings.HasSuffix(states, "]") {
		return o, false
	}
	o.States = strings.TrimSuffix(states, "]")
	rest, o.Action, _ = strings.Cut(rest, " can ")
	var area Rect
	if n, _ := fmt.Sscanf(rest, " %dx%d+%d+%d", &area.Width, &area.Height, &area.X, &area.Y); n == 4 {
		o.Area = &area
	}
	return o, true
}

// TreeOf is the tree that objects were taken from, as far as they tell: what has no place on the bus any
// more can be found in it, and not be acted on. An object that can do something has an action, and one
// that is editable a text.
func TreeOf(objects []Object) *Tree {
	t := &Tree{}
	var path []*Node
	for _, o := range objects {
		n := &Node{Name: o.Name, Role: Role(max(0, slices.Index(roleNames[:], o.Role))), States: statesOf(o.States)}
		if o.Action != "" {
			n.Interfaces |= HasAction
		}
		if n.States.Has(StateEditable) {
			n.Interfaces |= HasText
		}
		depth := min(o.Depth, len(path))
		if path = append(path[:depth], n); depth > 0 {
			n.Parent = path[depth-1]
			n.Parent.Children = append(n.Parent.Children, n)
		}
		t.Nodes = append(t.Nodes, n)
	}
	return t
}

// statesOf is the set that States.String listed. Some names are of two words.
func statesOf(list string) States {
	var s States
	for words := strings.Fields(list); len(words) > 0; {
		taken := 1
		for n := min(2, len(words)); n > 0; n-- {
			if i := slices.Index(stateNames[:], strings.Join(words[:n], " ")); i >= 0 {
				s |= 1 << i
				taken = n
				break
			}
		}
		words = words[taken:]
	}
	return s
}
