package x11_test

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/color"
	"image/png"
	"os"
	"testing"
	"time"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"

	"github.com/berth-run/berth/session"
	"github.com/berth-run/berth/session/sessiontest"
	"github.com/berth-run/berth/session/x11"
)

// open connects to a session's display.
func open(t *testing.T, s *session.Session) *x11.Display {
	t.Helper()
	d, err := x11.Open(t.Context(), sessiontest.Getenv(s, "DISPLAY"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

// app is a client with one window, drawn by the test on its own.
type app struct {
	conn   *xgb.Conn
	window xproto.Window
	events chan xgb.Event
}

const appTitle = "Büro"

// newApp shows a window of one colour, and waits until the window manager has taken it and, as a new
// one, given it the focus.
func newApp(t *testing.T, s *session.Session, colour uint32) *app {
	t.Helper()
	conn, err := xgb.NewConnDisplay(sessiontest.Getenv(s, "DISPLAY"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	screen := xproto.Setup(conn).DefaultScreen(conn)
	id, err := xproto.NewWindowId(conn)
	if err != nil {
		t.Fatal(err)
	}
	must(t, xproto.ChangeWindowAttributesChecked(conn, screen.Root, xproto.CwEventMask, []uint32{xproto.EventMaskPropertyChange}).Check())
	const mask = xproto.EventMaskButtonPress | xproto.EventMaskKeyPress | xproto.EventMaskExposure | xproto.EventMaskFocusChange
	must(t, xproto.CreateWindowChecked(conn, screen.RootDepth, id, screen.Root, 0, 0, 300, 200, 0,
		xproto.WindowClassInputOutput, screen.RootVisual, xproto.CwBackPixel|xproto.CwEventMask, []uint32{colour, mask}).Check())
	a := &app{conn: conn, window: id, events: make(chan xgb.Event, 100)}
	a.set(t, "_NET_WM_NAME", "UTF8_STRING", 8, []byte(appTitle))
	pid := make([]byte, 4)
	xgb.Put32(pid, uint32(os.Getpid()))
	a.set(t, "_NET_WM_PID", "CARDINAL", 32, pid)
	must(t, xproto.MapWindowChecked(conn, id).Check())
	go func() {
		defer close(a.events)
		for {
			e, err := conn.WaitForEvent()
			if e == nil && err == nil {
				return
			}
			a.events <- e
		}
	}()
	next[xproto.ExposeEvent](t, a)
	next[xproto.FocusInEvent](t, a)
	list, err := xproto.InternAtom(conn, false, uint16(len("_NET_CLIENT_LIST")), "_NET_CLIENT_LIST").Reply()
	must(t, err)
	for {
		reply, err := xproto.GetProperty(conn, false, screen.Root, list.Atom, xproto.AtomWindow, 0, 100).Reply()
		must(t, err)
		for i := range int(reply.ValueLen) {
			if xgb.Get32(reply.Value[4*i:]) == uint32(id) {
				return a
			}
		}
		next[xproto.PropertyNotifyEvent](t, a)
	}
}

func (a *app) set(t *testing.T, property, kind string, bits byte, value []byte) {
	t.Helper()
	atom := func(name string) xproto.Atom {
		reply, err := xproto.InternAtom(a.conn, false, uint16(len(name)), name).Reply()
		must(t, err)
		return reply.Atom
	}
	must(t, xproto.ChangePropertyChecked(a.conn, xproto.PropModeReplace, a.window, atom(property), atom(kind),
		bits, uint32(len(value)/int(bits/8)), value).Check())
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// next waits for an event of a kind and drops those before it.
func next[E xgb.Event](t *testing.T, a *app) E {
	t.Helper()
	deadline := time.After(time.Minute)
	for {
		select {
		case e, ok := <-a.events:
			if !ok {
				t.Fatal("the display is gone")
			}
			if e, ok := e.(E); ok {
				return e
			}
		case <-deadline:
			var e E
			t.Fatalf("no %T", e)
		}
	}
}

// find gives the test's own window, as the display describes it.
func find(t *testing.T, d *x11.Display) x11.Window {
	t.Helper()
	all, err := d.Windows(t.Context())
	must(t, err)
	if len(all) != 1 {
		t.Fatalf("windows %+v, want one", all)
	}
	return all[0]
}

func TestScreenshot(t *testing.T) {
	s := sessiontest.Start(t)
	newApp(t, s, 0x1080f0)
	d := open(t, s)
	area := find(t, d).Area

	var b bytes.Buffer
	must(t, d.WritePNG(t.Context(), &b))
	img, err := png.Decode(&b)
	must(t, err)
	if want := image.Rect(0, 0, session.DefaultWidth, session.DefaultHeight); img.Bounds() != want {
		t.Errorf("it's %v, want %v", img.Bounds(), want)
	}
	want := color.NRGBA{0x10, 0x80, 0xf0, 0xff}
	for _, p := range []image.Point{area.Min, area.Max.Sub(image.Pt(1, 1)), area.Min.Add(area.Size().Div(2))} {
		if got := color.NRGBAModel.Convert(img.At(p.X, p.Y)); got != want {
			t.Errorf("at %v it's %v, want %v", p, got, want)
		}
	}
	if got := color.NRGBAModel.Convert(img.At(area.Min.X-20, area.Min.Y+50)); got == want {
		t.Errorf("outside of the window it's %v too", got)
	}
}

func TestClick(t *testing.T) {
	s := sessiontest.Start(t)
	a, d := newApp(t, s, 0), open(t, s)
	at := find(t, d).Area.Min.Add(image.Pt(17, 42))
	must(t, d.Click(t.Context(), at.X, at.Y, x11.Left))
	e := next[xproto.ButtonPressEvent](t, a)
	if e.EventX != 17 || e.EventY != 42 || e.Detail != x11.Left {
		t.Errorf("button %d at %d,%d, want 1 at 17,42", e.Detail, e.EventX, e.EventY)
	}
	for _, p := range []image.Point{{-1, 5}, {5, -1}, {session.DefaultWidth, 5}, {5, session.DefaultHeight}} {
		if err := d.Click(t.Context(), p.X, p.Y, x11.Left); !errors.Is(err, x11.ErrPoint) {
			t.Errorf("click at %v: error %v", p, err)
		}
	}
}

func TestPress(t *testing.T) {
	s := sessiontest.Start(t)
	a, d := newApp(t, s, 0), open(t, s)
	must(t, d.Press(t.Context(), x11.KeyControl, 'v'))
	control, v := next[xproto.KeyPressEvent](t, a), next[xproto.KeyPressEvent](t, a)
	if control.State != 0 || v.State != xproto.ModMaskControl || control.Detail == v.Detail {
		t.Errorf("key %d with state %#x, then %d with %#x", control.Detail, control.State, v.Detail, v.State)
	}
	// They were released: the next key comes alone.
	must(t, d.Press(t.Context(), x11.KeyReturn))
	if enter := next[xproto.KeyPressEvent](t, a); enter.State != 0 {
		t.Errorf("state %#x after the keys were released", enter.State)
	}
	if err := d.Press(t.Context(), 0x1000000|'語'); !errors.Is(err, x11.ErrNoKey) {
		t.Errorf("a key that isn't there: error %v", err)
	}
}

func TestFocus(t *testing.T) {
	s := sessiontest.Start(t)
	first := newApp(t, s, 0)
	second := newApp(t, s, 0) // takes the focus, being new
	next[xproto.FocusOutEvent](t, first)
	d := open(t, s)
	must(t, d.Focus(t.Context(), uint32(first.window)))
	next[xproto.FocusOutEvent](t, second)
	must(t, d.Press(t.Context(), 'a'))
	next[xproto.KeyPressEvent](t, first)

	must(t, xproto.DestroyWindowChecked(second.conn, second.window).Check())
	if err := d.Focus(t.Context(), uint32(second.window)); !errors.Is(err, x11.ErrFocus) {
		t.Errorf("focus of a destroyed window: error %v", err)
	}
}

func TestWindowAt(t *testing.T) {
	s := sessiontest.Start(t)
	a, d := newApp(t, s, 0), open(t, s)
	w := find(t, d)
	if w.ID != uint32(a.window) || w.Title != appTitle || w.PID != uint32(os.Getpid()) || w.Area.Size() != image.Pt(300, 200) {
		t.Errorf("window %+v", w)
	}
	for _, p := range []image.Point{w.Area.Min, w.Area.Max.Sub(image.Pt(1, 1))} {
		if got, ok, err := d.WindowAt(t.Context(), p.X, p.Y); got != w || !ok || err != nil {
			t.Errorf("at %v: %+v, %v, error %v", p, got, ok, err)
		}
	}
	if got, ok, err := d.WindowAt(t.Context(), 0, 0); ok || err != nil {
		t.Errorf("in the corner: %+v, error %v", got, err)
	}
}

// TestServerStops: a display that no longer answers takes no longer than its caller allows.
func TestServerStops(t *testing.T) {
	s := sessiontest.Start(t)
	d := open(t, s)
	conn, err := xgb.NewConnDisplay(sessiontest.Getenv(s, "DISPLAY"))
	must(t, err)
	defer conn.Close()
	must(t, xproto.GrabServerChecked(conn).Check()) // nobody else is answered from here on

	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err = d.Screenshot(ctx)
	if !errors.Is(err, x11.ErrDisplay) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
}

func TestServerGone(t *testing.T) {
	s := sessiontest.Start(t)
	d := open(t, s)
	must(t, s.Close())
	if _, err := d.Screenshot(t.Context()); !errors.Is(err, x11.ErrDisplay) {
		t.Errorf("error %v", err)
	}
	if _, err := x11.Open(t.Context(), sessiontest.Getenv(s, "DISPLAY")); !errors.Is(err, x11.ErrDisplay) {
		t.Errorf("opening a display that's gone: error %v", err)
	}
}

func TestOpenRefuses(t *testing.T) {
	for _, display := range []string{"", "0", ":", "host:0", ":x", ":0/../X1"} {
		if d, err := x11.Open(t.Context(), display); !errors.Is(err, x11.ErrDisplay) {
			t.Errorf("display %q: %v, error %v", display, d, err)
		}
	}
}
