package atspi_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/codetest"
	"github.com/berth-run/berth/session/atspi"
)

// page serves the test's page and hands over what it posts.
type page struct {
	*httptest.Server
	posts chan string
}

func newPage(t testing.TB) *page {
	p := &page{posts: make(chan string, 16)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		http.ServeFile(w, r, "testdata/page.html")
	})
	mux.HandleFunc("POST /post", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		p.posts <- string(body)
	})
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	return p
}

// posted is the next thing that the page posted.
func (p *page) posted(t *testing.T) string {
	t.Helper()
	select {
	case body := <-p.posts:
		return body
	case <-within(t, time.Minute).Done():
		t.Fatal("the page posted nothing")
		return ""
	}
}

var chromium = atspi.Identity{Names: []string{"chromium"}, Processes: []string{"chromium"}}

// browse shows a page in a window of its own.
func (d *desk) browse(t testing.TB, url string, flags ...string) *atspi.App {
	t.Helper()
	// A shard denies what Chromium's own sandbox needs.
	flags = append(flags, "--app="+url, "--no-sandbox", "--no-first-run", "--disable-gpu", "--password-store=basic",
		"--disable-background-networking", "--user-data-dir="+t.TempDir())
	d.start(t, "chromium", "/usr/bin/chromium", flags...)
	return d.find(t, chromium)
}

const accessible = "--force-renderer-accessibility"

func TestChromium(t *testing.T) {
	d, p := newDesk(t), newPage(t)
	app := d.browse(t, p.URL, accessible)
	if app.Toolkit != "Chromium" || app.Process != "chromium" || app.PID == 0 {
		t.Errorf("found %+v", app)
	}
	_, err := app.Ready(within(t, time.Minute))
	must(t, err)
	one(t, app, button("Send message"))
	for name, test := range map[string]func(*testing.T, *desk, *page, *atspi.App){
		"act": testAct, "refuses": testRefuses, "type": testType, "type lines": testTypeLines,
		"paste": testPaste, "composer": testComposer, "read": testRead, "places": testPlaces, "dump": testDump,
	} {
		t.Run(name, func(t *testing.T) { test(t, d, p, app) })
	}
}

func testAct(t *testing.T, _ *desk, p *page, app *atspi.App) {
	must(t, app.Do(t.Context(), one(t, app, button("Press me")), "press", "click"))
	if got := p.posted(t); got != "pressed" {
		t.Errorf("the page posted %q", got)
	}
}

func testRefuses(t *testing.T, d *desk, _ *page, app *atspi.App) {
	tree, err := app.Snapshot(t.Context())
	must(t, err)
	if _, err := tree.One(button("Twice")); !errors.Is(err, atspi.ErrNotOne) {
		t.Errorf("two buttons: %v", err)
	}
	if _, err := tree.One(button("Not now")); !errors.Is(err, atspi.ErrNotOne) {
		t.Errorf("a disabled button is actionable: %v", err)
	}
	disabled, err := tree.One(atspi.Query{Roles: []atspi.Role{atspi.RoleButton}, Names: []string{"Not now"}})
	must(t, err)
	if err := app.Do(t.Context(), disabled, "press"); !errors.Is(err, atspi.ErrUnavailable) {
		t.Errorf("a disabled button: %v", err)
	}
	press := one(t, app, button("Press me"))
	if err := app.Do(t.Context(), press, "fold", "spindle"); !errors.Is(err, atspi.ErrNotOne) {
		t.Errorf("no such action: %v", err)
	}
	press.Name = "Press you"
	if err := app.Do(t.Context(), press, "press"); !errors.Is(err, atspi.ErrUnavailable) {
		t.Errorf("another button: %v", err)
	}
	notes := one(t, app, entry("Notes"))
	err = app.Type(t.Context(), notes, "a\nb", d.input(atspi.NoNewline))
	if !errors.Is(err, atspi.ErrInput) {
		t.Errorf("a line break: %v", err)
	}
	codetest.Saw(t, code.Of(err))
}

// send has the page post what an editor holds; the page empties it then.
func send(t *testing.T, p *page, app *atspi.App, name, want string) {
	t.Helper()
	must(t, app.Do(t.Context(), one(t, app, button(name)), "press", "click"))
	if got := p.posted(t); got != want {
		t.Errorf("the page holds\n%q, want\n%q", got, want)
	}
}

func testType(t *testing.T, d *desk, p *page, app *atspi.App) {
	must(t, app.Type(within(t, time.Minute), one(t, app, entry("Notes")), text, d.input(atspi.NoNewline)))
	send(t, p, app, "Send notes", text)
}

func testTypeLines(t *testing.T, d *desk, p *page, app *atspi.App) {
	const want = "first: ä\n\n third 漢"
	for _, nl := range []atspi.Newline{atspi.Return, atspi.ShiftReturn} {
		must(t, app.Type(within(t, time.Minute), one(t, app, entry("Notes")), want, d.input(nl)))
		send(t, p, app, "Send notes", want)
	}
}

func testPaste(t *testing.T, d *desk, p *page, app *atspi.App) {
	for _, want := range []string{text, lines} {
		must(t, app.Paste(within(t, time.Minute), one(t, app, entry("Notes")), want, d.input(atspi.NoNewline)))
		send(t, p, app, "Send notes", want)
	}
}

// testComposer: a rich editor, where every line is a paragraph of its own.
func testComposer(t *testing.T, d *desk, p *page, app *atspi.App) {
	composer := one(t, app, entry("Composer"))
	must(t, app.Paste(within(t, time.Minute), composer, lines, d.input(atspi.NoNewline)))
	got, err := app.Text(t.Context(), composer)
	must(t, err)
	if got != lines {
		t.Errorf("read\n%q, want\n%q", got, lines)
	}
	send(t, p, app, "Send message", lines)
	must(t, app.Type(within(t, time.Minute), one(t, app, entry("Composer")), text, d.input(atspi.NoNewline)))
	send(t, p, app, "Send message", text)
}

func testRead(t *testing.T, _ *desk, _ *page, app *atspi.App) {
	rich := one(t, app, entry("Rich"))
	got, err := app.Text(t.Context(), rich)
	must(t, err)
	if want := "one\n\ntwo bold link end\n• item"; got != want {
		t.Errorf("read %q, want %q", got, want)
	}
	group := rich.Ancestor(atspi.RolePanel)
	if group == nil || group.Name != "Letter" {
		t.Errorf("the group of the editor is %+v", group)
	}
	tree, err := app.Snapshot(t.Context())
	must(t, err)
	editors := atspi.Outermost(tree.Find(atspi.Query{States: atspi.Available | atspi.StateEditable, Interfaces: atspi.HasText}))
	if len(editors) != 3 {
		t.Errorf("%d editors, want 3: %+v", len(editors), editors)
	}
}

// testPlaces: the middle of a button is in the button, and its place on screen is its window's and its own.
func testPlaces(t *testing.T, _ *desk, _ *page, app *atspi.App) {
	press := one(t, app, button("Press me"))
	inWindow, err := app.Extents(t.Context(), press, atspi.OfWindow)
	must(t, err)
	onScreen, err := app.Extents(t.Context(), press, atspi.OfScreen)
	must(t, err)
	window, err := app.Extents(t.Context(), press.Ancestor(atspi.RoleFrame), atspi.OfScreen)
	must(t, err)
	if onScreen.X != window.X+inWindow.X || onScreen.Y != window.Y+inWindow.Y || onScreen.Width <= 0 {
		t.Errorf("on screen %+v, in the window %+v of %+v", onScreen, inWindow, window)
	}
	for x, want := range map[int32]bool{onScreen.X + onScreen.Width/2: true, onScreen.X - 1: false} {
		in, err := app.Contains(t.Context(), press, x, onScreen.Y+onScreen.Height/2, atspi.OfScreen)
		must(t, err)
		if in != want {
			t.Errorf("x=%d is in %+v: %v", x, onScreen, in)
		}
	}
}

// testDump: evidence has the page's controls with their places and what they can do.
func testDump(t *testing.T, _ *desk, _ *page, app *atspi.App) {
	objects, err := app.Dump(t.Context())
	must(t, err)
	i := slices.IndexFunc(objects, func(o atspi.Object) bool { return o.Name == "Press me" && o.Role == "button" })
	if i < 0 || objects[i].Area == nil || objects[i].Area.Width <= 0 || objects[i].Action != "press" || !strings.Contains(objects[i].States, "showing") {
		t.Fatalf("the button is %d: %+v", i, objects)
	}
	var text bytes.Buffer
	must(t, atspi.WriteObjects(&text, objects))
	line := fmt.Sprintf("\n%sbutton \"Press me\" %dx", strings.Repeat("  ", objects[i].Depth), objects[i].Area.Width)
	if !strings.Contains(text.String(), line) || strings.Count(text.String(), "\n") != len(objects) {
		t.Errorf("no %q in\n%s", line, text.String())
	}
}

// TestChromiumNotEnabled: without its flag Chromium shows its window, and nothing in it, for ever.
func TestChromiumNotEnabled(t *testing.T) {
	d, p := newDesk(t), newPage(t)
	app := d.browse(t, p.URL)
	if _, err := app.Ready(within(t, 15*time.Second)); !errors.Is(err, atspi.ErrNotEnabled) {
		t.Errorf("got %v", err)
	}
}
