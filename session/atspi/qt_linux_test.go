package atspi_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/berth-run/berth/session/atspi"
)

// featherPad edits a file; what it saves is what it was given.
func (d *desk) featherPad(t *testing.T) (file string, app *atspi.App) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "note.txt")
	must(t, os.WriteFile(file, nil, 0o600))
	d.start(t, "featherpad", "/usr/bin/featherpad", file)
	app = d.find(t, atspi.Identity{Names: []string{"featherpad"}, Processes: []string{"featherpad"}})
	_, err := app.Ready(within(t, time.Minute))
	must(t, err)
	return file, app
}

// choose opens a menu of the menu bar and picks an item.
func choose(t *testing.T, app *atspi.App, menu, item string) {
	t.Helper()
	q := func(name string) atspi.Query {
		return atspi.Query{Roles: []atspi.Role{atspi.RoleMenuItem}, Names: []string{name}, States: atspi.Actionable}
	}
	must(t, app.Do(t.Context(), one(t, app, q(menu)), "showmenu"))
	must(t, app.Do(t.Context(), one(t, app, q(item)), "press"))
}

// awaitFile waits until an app has saved what it should.
func awaitFile(t *testing.T, app *atspi.App, file, want string) {
	t.Helper()
	var got []byte
	_, err := app.Await(within(t, time.Minute), "the file", func(*atspi.Tree) (ok bool, err error) {
		got, err = os.ReadFile(file)
		return string(got) == want, err
	})
	if err != nil {
		logTree(t, app)
		t.Fatalf("saved\n%q, want\n%q: %v", got, want, err)
	}
}

func TestQt(t *testing.T) {
	for name, write := range map[string]func(*testing.T, *desk, *atspi.App){
		"type": func(t *testing.T, d *desk, app *atspi.App) {
			must(t, app.Type(within(t, time.Minute), one(t, app, multiLine), lines, d.input(atspi.NoNewline)))
		},
		"keys": func(t *testing.T, d *desk, app *atspi.App) {
			n := one(t, app, multiLine)
			n.Interfaces &^= atspi.HasEditableText
			must(t, app.Type(within(t, time.Minute), n, keyed, d.input(atspi.Return)))
		},
		"paste": func(t *testing.T, d *desk, app *atspi.App) {
			must(t, app.Paste(within(t, time.Minute), one(t, app, multiLine), lines, d.input(atspi.NoNewline)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			file, app := d.featherPad(t)
			if app.Toolkit != "Qt" {
				t.Errorf("the toolkit is %q", app.Toolkit)
			}
			write(t, d, app)
			want := lines
			if name == "keys" {
				want = keyed
			}
			got, err := app.Text(t.Context(), one(t, app, multiLine))
			must(t, err)
			if got != want {
				t.Errorf("read\n%q, want\n%q", got, want)
			}
			choose(t, app, "File", "Save")
			awaitFile(t, app, file, want+"\n") // it ends the last line
		})
	}
}

// keyed is typed in editors that make their own of what begins or ends a word or a line.
const keyed = "Grüße\nça va? 漢字\n\n한국어 ✓ 🙂 end"

var multiLine = atspi.Query{
	Roles: []atspi.Role{atspi.RoleText}, States: atspi.Actionable | atspi.StateEditable | atspi.StateMultiLine,
	Interfaces: atspi.HasText,
}
