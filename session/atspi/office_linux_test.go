package atspi_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/berth-run/berth/session/atspi"
	"github.com/berth-run/berth/session/sessiontest"
	"github.com/berth-run/berth/session/x11"
)

// document is LibreOffice's: it has no text of its own, but paragraphs.
var document = atspi.Query{Roles: []atspi.Role{atspi.RoleDocumentText}, States: atspi.Writable}

// keepText answers whether the file is to stay plain text; releases word it differently.
var keepText = atspi.Query{
	Roles: []atspi.Role{atspi.RoleButton}, States: atspi.Actionable,
	Names: []string{"Use Text Format", "Use Text Format!", "Keep Text Format", "Keep Text Format!"},
}

// TestOffice writes into a document of LibreOffice Writer, with keys and by the clipboard, and has it
// saved as plain text.
func TestOffice(t *testing.T) {
	d := newDesk(t)
	sessiontest.Need(t, "/usr/lib/libreoffice/program/libvclplug_gtk3lo.so", "libreoffice-gtk3")
	file := filepath.Join(t.TempDir(), "letter.txt")
	must(t, os.WriteFile(file, []byte("draft"), 0o600))
	d.start(t, "libreoffice-writer", "/usr/bin/soffice", "--writer", "--norestore", "--nologo", file)
	app := d.find(t, atspi.Identity{Names: []string{"soffice"}, Processes: []string{"soffice.bin"}})
	_, err := app.Ready(within(t, time.Minute))
	must(t, err)

	asked := false
	for name, test := range map[string]struct {
		text  string
		write func(context.Context, *atspi.Node, string, atspi.Input) error
		line  atspi.Newline
	}{
		"type":  {keyed, app.Type, atspi.Return},
		"paste": {lines, app.Paste, atspi.NoNewline},
	} {
		t.Run(name, func(t *testing.T) {
			d.clear(t, app)
			must(t, test.write(within(t, time.Minute), one(t, app, document), test.text, d.input(test.line)))
			got, err := app.Text(t.Context(), one(t, app, document))
			must(t, err)
			if got != test.text {
				t.Errorf("read\n%q, want\n%q", got, test.text)
			}
			must(t, app.Do(t.Context(), one(t, app, button("Save")), "press", "click"))
			if !asked { // only once a document
				must(t, app.Do(t.Context(), one(t, app, keepText), "press", "click"))
				asked = true
			}
			awaitFile(t, app, file, test.text+"\n")
		})
	}
}

// clear empties the document. A paragraph tells that it has the focus once keys came to it.
func (d *desk) clear(t *testing.T, app *atspi.App) {
	t.Helper()
	n := one(t, app, document)
	must(t, app.Focus(within(t, time.Minute), n.Children[0]))
	must(t, d.keyboard.Press(t.Context(), x11.KeyControl, 'a'))
	must(t, d.keyboard.Press(t.Context(), x11.KeyDelete))
	_, err := app.Await(within(t, time.Minute), "an empty document", func(*atspi.Tree) (bool, error) {
		text, err := app.Text(t.Context(), n)
		return text == "", err
	})
	must(t, err)
}
