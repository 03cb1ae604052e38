package driver_test

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/codetest"
	"github.com/berth-run/berth/session/client/chatgpt/driver"
	"github.com/berth-run/berth/session/sessiontest"
)

// long are limits that no test waits for: what ends before is no time-out.
var long = driver.Limits{
	Overall: time.Hour, FirstUI: time.Hour, Screen: time.Hour, Open: time.Hour, Draft: time.Hour, Settle: time.Hour, Observe: time.Hour,
}

var splash = object{"splash": object{"until": "never"}}

// TestAppEnds: an app that ends while something is waited for ends the waiting.
func TestAppEnds(t *testing.T) {
	submit := func(d *driver.Driver) (driver.Receipt, error) { return d.Submit(t.Context(), driver.Work, "hello") }
	prepare := func(d *driver.Driver) (driver.Receipt, error) { return d.Prepare(t.Context(), driver.Work) }
	for name, tc := range map[string]struct {
		scenario object
		do       func(*driver.Driver) (driver.Receipt, error)
		phase    driver.Phase
		sent     bool
	}{
		"on a screen":          {object{"screens": []object{{"kind": "blank", "delayMs": 200, "crash": "kill"}}}, prepare, driver.WaitingForInitialUI, false},
		"after the composer":   {object{"handoff": object{"crash": "exit"}}, prepare, driver.AtComposer, false},
		"with the draft":       {object{"handoff": object{"crash": "kill"}}, submit, driver.AtSurface, false},
		"with the sent prompt": {object{"send": object{"crash": "kill"}}, submit, driver.AtComposer, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, tc.scenario, long)
			receipt, err := tc.do(r.driver)
			r.check(t, receipt, err, driver.Failed, code.AppExited)
			if receipt.Phase != tc.phase || receipt.Sent != tc.sent {
				t.Errorf("got %+v", receipt)
			}
		})
	}
}

// TestBusEnds: so does an accessibility bus that ends.
func TestBusEnds(t *testing.T) {
	r := newRig(t, splash, long)
	r.look()
	var pid uint32
	must(t, r.session.Accessibility().BusObject().Call("org.freedesktop.DBus.GetConnectionUnixProcessID", 0, "org.freedesktop.DBus").Store(&pid))
	time.AfterFunc(500*time.Millisecond, func() { _ = syscall.Kill(int(pid), syscall.SIGKILL) })
	receipt, err := r.driver.Prepare(t.Context(), driver.Work)
	if code.Of(err) != code.DesktopGLibError || receipt.Error != code.DesktopGLibError {
		t.Errorf("got %v and %+v", err, receipt)
	}
}

// TestCause: who ends the context gives the reason.
func TestCause(t *testing.T) {
	r := newRig(t, splash, long)
	r.look()
	cause := code.Errorf(code.SessionFailed, "the display ended")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(300*time.Millisecond, func() { cancel(cause) })
	receipt, err := r.driver.Prepare(ctx, driver.Work)
	if !errors.Is(err, cause) || receipt.Error != code.SessionFailed || receipt.Phase != driver.WaitingForInitialUI {
		t.Errorf("got %v and %+v", err, receipt)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	receipt, err = r.driver.Prepare(ctx, driver.Work)
	if !errors.Is(err, context.Canceled) || receipt.Error != code.Cancelled {
		t.Errorf("got %v and %+v", err, receipt)
	}
}

// TestLimits: each limit has a code of its own.
func TestLimits(t *testing.T) {
	r := newRig(t, splash, long)
	r.look()
	for name, tc := range map[string]struct {
		scenario object
		limits   driver.Limits
		code     code.Code
	}{
		"overall":  {splash, driver.Limits{Overall: 500 * time.Millisecond}, code.DeadlineExceeded},
		"first UI": {splash, driver.Limits{FirstUI: 500 * time.Millisecond}, code.StateTransitionUnobserved},
		"hand-off": {object{"handoff": object{"hangMs": 60_000}}, driver.Limits{Open: 500 * time.Millisecond}, code.OpenFailed},
		"no effect": {object{"screens": []object{{"kind": "examples", "dead": []string{"skip"}}}},
			driver.Limits{Screen: 500 * time.Millisecond}, code.StateTransitionUnobserved},
		"actions": {object{"screens": []object{{"kind": "profession"}, {"kind": "examples"}}},
			driver.Limits{Actions: 2}, code.ActionBudgetExhausted},
	} {
		t.Run(name, func(t *testing.T) {
			r.restart(t, tc.scenario)
			r.drive(t, tc.limits)
			receipt, err := r.driver.Prepare(t.Context(), driver.Work)
			r.check(t, receipt, err, driver.Failed, tc.code)
		})
	}
}

// TestNothingLeftForSend: a budget that ends before Send isn't gone over for it.
func TestNothingLeftForSend(t *testing.T) {
	r := newRig(t, object{}, driver.Limits{Actions: 1})
	r.look()
	r.arrive(t)
	receipt, err := r.driver.Submit(t.Context(), driver.Work, "hello")
	r.check(t, receipt, err, driver.Failed, code.ActionBudgetExhausted)
	if clicks := r.journal("click"); len(clicks) > 0 || receipt.Sent || receipt.Step != driver.Send || receipt.ActionCount != 1 {
		t.Errorf("got %+v, clicks %v", receipt, clicks)
	}
}

// TestRefuses: what is wrong with a call is said before anything is done.
func TestRefuses(t *testing.T) {
	r := newRig(t, splash, long)
	for name, tc := range map[string]struct {
		do   func() (driver.Receipt, error)
		code code.Code
	}{
		"surface":  {func() (driver.Receipt, error) { return r.driver.Prepare(t.Context(), "chat") }, code.InvalidSurface},
		"empty":    {func() (driver.Receipt, error) { return r.driver.Submit(t.Context(), driver.Work, "") }, code.InvalidPrompt},
		"no UTF-8": {func() (driver.Receipt, error) { return r.driver.Submit(t.Context(), driver.Work, "\xed\xa0\x80") }, code.InvalidPrompt},
		"NUL":      {func() (driver.Receipt, error) { return r.driver.Submit(t.Context(), driver.Work, "a\x00b") }, code.InvalidPrompt},
		"large": {func() (driver.Receipt, error) {
			return r.driver.Submit(t.Context(), driver.Work, string(make([]byte, 2<<20+1)))
		}, code.InputTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			receipt, err := tc.do()
			r.check(t, receipt, err, driver.Failed, tc.code)
			if receipt.ActionCount != 0 {
				t.Errorf("got %+v", receipt)
			}
		})
	}
	for _, l := range []driver.Limits{{Actions: 65}, {Actions: -1}, {Settle: -1}} {
		_, err := driver.New(t.Context(), driver.Options{
			Accessibility: sessiontest.Getenv(r.session, "AT_SPI_BUS_ADDRESS"), Display: sessiontest.Getenv(r.session, "DISPLAY"), Limits: l,
		})
		if code.Of(err) != code.InvalidBudget {
			t.Errorf("%+v: %v", l, err)
		}
		codetest.Saw(t, code.Of(err))
	}
}

// TestNotAccessible: an app that doesn't tell what's in its window is told from one that's late.
func TestNotAccessible(t *testing.T) {
	r := newRig(t, object{}, driver.Limits{FirstUI: 15 * time.Second}, "--force-renderer-accessibility")
	r.find() // so that the limit is for looking into the window alone
	receipt, err := r.driver.Prepare(t.Context(), driver.Work)
	r.check(t, receipt, err, driver.Failed, code.A11yNotEnabled)
}

// TestCovered: a click that would go to another app's window isn't made.
func TestCovered(t *testing.T) {
	r := newRig(t, object{"screens": []object{{"kind": "profession"}}}, driver.Limits{Screen: 2 * time.Second})
	r.look()
	r.arrive(t)
	cover(t, sessiontest.Getenv(r.session, "DISPLAY"))
	receipt, err := r.driver.Prepare(t.Context(), driver.Work)
	r.check(t, receipt, err, driver.Failed, code.ProfessionGeometryInvalid)
	if receipt.ActionCount != 0 || len(r.journal("click")) > 0 {
		t.Errorf("got %+v, clicks %v", receipt, r.journal("click"))
	}
}

// cover lays a window of this process over all of the screen.
func cover(t *testing.T, display string) {
	t.Helper()
	conn, err := xgb.NewConnDisplay(display)
	must(t, err)
	t.Cleanup(conn.Close)
	screen := xproto.Setup(conn).DefaultScreen(conn)
	id, err := xproto.NewWindowId(conn)
	must(t, err)
	must(t, xproto.CreateWindowChecked(conn, screen.RootDepth, id, screen.Root, 0, 0, screen.WidthInPixels, screen.HeightInPixels, 0,
		xproto.WindowClassInputOutput, screen.RootVisual, xproto.CwOverrideRedirect, []uint32{1}).Check())
	name := "_NET_WM_PID"
	atom, err := xproto.InternAtom(conn, false, uint16(len(name)), name).Reply()
	must(t, err)
	pid := make([]byte, 4)
	xgb.Put32(pid, uint32(os.Getpid()))
	must(t, xproto.ChangePropertyChecked(conn, xproto.PropModeReplace, id, atom.Atom, xproto.AtomCardinal, 32, 1, pid).Check())
	must(t, xproto.MapWindowChecked(conn, id).Check())
}
