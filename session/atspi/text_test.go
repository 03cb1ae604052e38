package atspi_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/godbus/dbus/v5"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/codetest"
	"github.com/berth-run/berth/session/atspi"
)

// paragraph is a node with a text, and what is embedded in it at each marker.
type paragraph struct {
	role     atspi.Role
	text     string
	links    bool // the node knows of its links, in the order of its children
	children []string
}

// read has the driver read the text of the node "0" of an app.
func read(t *testing.T, nodes map[string]paragraph) (string, error) {
	t.Helper()
	d := newDesktopBus(t)
	objects := map[string]fakeNode{}
	for id, n := range nodes {
		objects[id] = fakeNode{role: n.role, children: n.children}
	}
	a := d.app(t, fakeNode{name: "Fake", role: atspi.RoleApplication, children: []string{"0"}}, objects)
	for id, n := range nodes {
		a.serveText(t, id, n)
	}
	app := d.found(t)
	tree, err := app.Snapshot(soon(t))
	must(t, err)
	return app.Text(soon(t), tree.Nodes[1])
}

func (a *fakeApp) serveText(t *testing.T, id string, n paragraph) {
	t.Helper()
	serve(t, a.conn, a.ref(id).Path, "Text", map[string]any{
		"GetText": func(from, to int32) (string, *dbus.Error) { return n.text, nil },
	})
	serve(t, a.conn, a.ref(id).Path, "Hyperlink", map[string]any{
		"GetObject": func(int32) (atspi.Ref, *dbus.Error) { return a.ref(id), nil },
	})
	if !n.links {
		return
	}
	serve(t, a.conn, a.ref(id).Path, "Hypertext", map[string]any{
		"GetLinkIndex": func(offset int32) (int32, *dbus.Error) {
			link := int32(-1)
			for i, r := range []rune(n.text) {
				if r == '\uFFFC' && int(link) < len(n.children)-1 {
					link++
					if int32(i) == offset {
						return link, nil
					}
				}
			}
			return -1, nil
		},
		"GetLink": func(i int32) (atspi.Ref, *dbus.Error) { return a.ref(n.children[i]), nil },
	})
}

func TestText(t *testing.T) {
	p := func(text string) paragraph { return paragraph{role: atspi.RoleParagraph, text: text} }
	link := func(text string) paragraph { return paragraph{role: atspi.RoleLink, text: text} }
	for name, test := range map[string]struct {
		nodes map[string]paragraph
		want  string
	}{
		"plain":           {map[string]paragraph{"0": p("a\nb")}, "a\nb"},
		"paragraphs":      {map[string]paragraph{"0": {text: "￼￼￼", links: true, children: []string{"1", "2", "3"}}, "1": p("a"), "2": p("\n"), "3": p("b\n")}, "a\n\nb"},
		"first is empty":  {map[string]paragraph{"0": {text: "￼￼", links: true, children: []string{"1", "2"}}, "1": p("\n"), "2": p("b")}, "\nb"},
		"text and blocks": {map[string]paragraph{"0": {text: "a￼b", links: true, children: []string{"1"}}, "1": p("x")}, "a\nx\nb"},
		"inline":          {map[string]paragraph{"0": {text: "é ￼, ￼.", links: true, children: []string{"1", "2"}}, "1": link("x"), "2": link("y")}, "é x, y."},
		"nested":          {map[string]paragraph{"0": {text: "￼", links: true, children: []string{"1"}}, "1": {role: atspi.RoleList, text: "￼￼", links: true, children: []string{"2", "3"}}, "2": p("a"), "3": p("b")}, "a\nb"},
		"only child":      {map[string]paragraph{"0": {text: "a ￼", children: []string{"1"}}, "1": link("x")}, "a x"},
		"a marker's own":  {map[string]paragraph{"0": {text: "￼ and ￼", links: true, children: []string{"1"}}, "1": link("x")}, "x and ￼"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := read(t, test.nodes)
			if err != nil || got != test.want {
				t.Errorf("got %q %v, want %q", got, err, test.want)
			}
		})
	}
}

func TestTextRefuses(t *testing.T) {
	for name, nodes := range map[string]map[string]paragraph{
		"deep":         {"0": {text: "￼", links: true, children: []string{"0"}}},
		"many":         {"0": {text: strings.Repeat("￼", 300), links: true, children: []string{"1"}}, "1": {}},
		"large":        {"0": {text: strings.Repeat("x", 2<<20+1)}},
		"which of two": {"0": {text: "￼", children: []string{"1", "2"}}, "1": {}, "2": {}},
		"two without":  {"0": {text: "￼￼", children: []string{"1", "2"}}, "1": {}, "2": {}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := read(t, nodes)
			if !errors.Is(err, atspi.ErrText) || got != "" {
				t.Errorf("got %d bytes, %v", len(got), err)
			}
			codetest.Saw(t, code.Of(err))
		})
	}
}
