package atspi

import "slices"

// Node is an object in a snapshot.
type Node struct {
	Ref
	Role       Role
	Name       string
	States     States
	Interfaces Interfaces
	Parent     *Node // nil for the app itself
	Children   []*Node
	// Elided: the node makes its children on demand, and they are too many to be looked at.
	Elided bool
}

// Ancestor is the nearest node above n with a role, nil if there is none.
func (n *Node) Ancestor(role Role) *Node {
	for n = n.Parent; n != nil && n.Role != role; n = n.Parent {
	}
	return n
}

// window is what holds n just below the app.
func (n *Node) window() *Node {
	for n.Parent != nil && n.Parent.Parent != nil {
		n = n.Parent
	}
	return n
}

// Below tells whether n is somewhere below other.
func (n *Node) Below(other *Node) bool {
	for n = n.Parent; n != nil && n != other; n = n.Parent {
	}
	return n != nil
}

// Tree is all of an app at one moment.
type Tree struct {
	// Nodes are in the order of the document: each before its children, and these before what follows.
	Nodes []*Node
}

// Root is the app itself.
func (t *Tree) Root() *Node { return t.Nodes[0] }

// Query says what to look for; what it leaves empty may be anything.
type Query struct {
	Roles      []Role   // any of these
	Names      []string // any of these, whole and to the letter
	States     States   // all of these
	Interfaces Interfaces
	Within     *Node // somewhere below this one
}

func (q Query) matches(n *Node) bool {
	return (len(q.Roles) == 0 || slices.Contains(q.Roles, n.Role)) &&
		(len(q.Names) == 0 || slices.Contains(q.Names, n.Name)) &&
		n.States.Has(q.States) && n.Interfaces.Has(q.Interfaces) &&
		(q.Within == nil || n.Below(q.Within))
}

// Find gives all that match, in the order of the document.
func (t *Tree) Find(q Query) []*Node {
	var found []*Node
	for _, n := range t.Nodes {
		if q.matches(n) {
			found = append(found, n)
		}
	}
	return found
}

// One gives the only match, or fails with ErrNotOne.
func (t *Tree) One(q Query) (*Node, error) {
	found := t.Find(q)
	if len(found) != 1 {
		return nil, fail(ErrNotOne, "%d controls are %v %q, want one", len(found), q.Roles, q.Names)
	}
	return found[0], nil
}

// Outermost leaves out what is below another of the nodes: a composer's paragraphs are editable too.
func Outermost(nodes []*Node) []*Node {
	return slices.DeleteFunc(slices.Clone(nodes), func(n *Node) bool {
		return slices.ContainsFunc(nodes, n.Below)
	})
}
