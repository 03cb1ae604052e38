package atspi_test

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/berth-run/berth/session/atspi"
	"github.com/berth-run/berth/session/client/process"
)

var editor = atspi.Query{
	Roles: []atspi.Role{atspi.RoleText, atspi.RoleEntry}, States: atspi.Actionable | atspi.StateEditable,
	Interfaces: atspi.HasText,
}

// zenity asks for a text; it prints what it was given when OK is pressed.
func (d *desk) zenity(t *testing.T, args ...string) (*process.Process, *atspi.App) {
	t.Helper()
	p := d.start(t, "zenity", "/usr/bin/zenity", args...)
	app := d.find(t, atspi.Identity{Names: []string{"zenity"}, Processes: []string{"zenity"}})
	_, err := app.Ready(within(t, time.Minute))
	must(t, err)
	return p, app
}

func printed(t *testing.T, p *process.Process, app *atspi.App, want string) {
	t.Helper()
	must(t, app.Do(t.Context(), one(t, app, button("OK")), "click"))
	out, err := io.ReadAll(p.Stdout)
	must(t, err)
	if string(out) != want {
		t.Errorf("zenity printed %q, want %q", out, want)
	}
}

func TestGTKType(t *testing.T) {
	d := newDesk(t)
	p, app := d.zenity(t, "--entry", "--text=Your name")
	if !strings.EqualFold(app.Toolkit, "gtk") { // GTK 4's is in capitals
		t.Errorf("the toolkit is %q", app.Toolkit)
	}
	must(t, app.Type(within(t, time.Minute), one(t, app, editor), text, d.input(atspi.NoNewline)))
	printed(t, p, app, text+"\n")
}

func TestGTKTypeLines(t *testing.T) {
	d := newDesk(t)
	p, app := d.zenity(t, "--text-info", "--editable")
	must(t, app.Type(within(t, time.Minute), one(t, app, editor), lines, d.input(atspi.NoNewline)))
	printed(t, p, app, lines)
}

func TestGTKPaste(t *testing.T) {
	d := newDesk(t)
	p, app := d.zenity(t, "--text-info", "--editable")
	must(t, app.Paste(within(t, time.Minute), one(t, app, editor), lines, d.input(atspi.NoNewline)))
	printed(t, p, app, lines)
}

// TestGTKKeys types with keys where the app would take the text whole.
func TestGTKKeys(t *testing.T) {
	d := newDesk(t)
	p, app := d.zenity(t, "--text-info", "--editable")
	n := one(t, app, editor)
	n.Interfaces &^= atspi.HasEditableText
	must(t, app.Type(within(t, time.Minute), n, text+"\n"+text, d.input(atspi.Return)))
	printed(t, p, app, text+"\n"+text)
}

// TestGTKManyKeys types more different characters than a keyboard has unused keys for.
func TestGTKManyKeys(t *testing.T) {
	d := newDesk(t)
	p, app := d.zenity(t, "--text-info", "--editable")
	n := one(t, app, editor)
	n.Interfaces &^= atspi.HasEditableText
	var many strings.Builder
	for r := rune(0x4e00); r < 0x4e00+300; r++ {
		many.WriteRune(r)
	}
	must(t, app.Type(within(t, 5*time.Minute), n, many.String(), d.input(atspi.NoNewline)))
	printed(t, p, app, many.String())
}
