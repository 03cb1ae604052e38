package atspi_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-run/berth/session/atspi"
)

// What is written of a tree is read as it was, whatever names look like.
func TestParseObjects(t *testing.T) {
	want := []atspi.Object{
		{Role: "application", Name: "Chromium", States: "enabled sensitive"},
		{Depth: 1, Role: "frame", Name: "A \"title\" [x]\n  button \"Send\" [showing]", States: "enabled showing visible", Area: &atspi.Rect{X: -3, Y: 4, Width: 10, Height: 20}},
		{Depth: 2, Role: "entry", States: "editable enabled multi line showing visible supports autocompletion"},
		{Depth: 2, Role: "button", Name: " can press ", Action: "press", States: "enabled sensitive showing visible has popup"},
		{Depth: 1, Role: "heading", Name: "漢字", States: ""},
	}
	var b bytes.Buffer
	if err := atspi.WriteObjects(&b, want); err != nil {
		t.Fatal(err)
	}
	b.WriteString("2 apps are on the accessibility bus:\n\"gcr-prompter\" of gtk\n")
	got, err := atspi.ParseObjects(&b)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	tree := atspi.TreeOf(got)
	for i, n := range tree.Nodes {
		if n.Role.String() != want[i].Role || n.Name != want[i].Name || n.States.String() != want[i].States {
			t.Errorf("%d is %v %q [%v]", i, n.Role, n.Name, n.States)
		}
	}
	if frame := tree.Nodes[3].Ancestor(atspi.RoleFrame); frame != tree.Nodes[1] || tree.Nodes[4].Parent != tree.Root() {
		t.Error("it's another tree")
	}
	if composer := tree.Nodes[2]; !composer.Interfaces.Has(atspi.HasText) || !tree.Nodes[3].Interfaces.Has(atspi.HasAction) {
		t.Error("nothing can be done with it")
	}
}
