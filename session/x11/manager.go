package x11

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jezek/xgb/xproto"
)

// remap is how long a window manager has to take a new window before it's asked again.
const remap = 10 * time.Millisecond

var (
	errClosed = errors.New("it closed the connection")
	errAgain  = errors.New("not yet")
)

// AwaitManager waits until a window manager takes new windows, which it proves by one of its own that
// is gone again afterwards. It takes the connection's events, so it isn't for a Display that is used
// for more.
//
// That a manager says it's there (EWMH's _NET_SUPPORTING_WM_CHECK) isn't enough: openbox says so well
// before it manages anything, and a window that asks in between is never shown.
func (d *Display) AwaitManager(ctx context.Context) error {
	return d.within(ctx, func() error {
		if err := d.watchProperties(d.screen.Root); err != nil {
			return err
		}
		probe, err := d.newProbe()
		if err != nil {
			return err
		}
		events := d.events()
		listed := func() (bool, error) { return d.listed(probe) }
		if err := d.showUntil(listed, probe, events); err != nil {
			return err
		}
		if err := xproto.DestroyWindowChecked(d.conn, probe).Check(); err != nil {
			return err
		}
		return await(events, nil, func() (bool, error) {
			still, err := d.listed(probe)
			return !still, err
		})
	})
}

// showUntil shows a window, again and again, until what's awaited has come.
func (d *Display) showUntil(come func() (bool, error), w xproto.Window, events <-chan struct{}) error {
	again := time.NewTicker(remap)
	defer again.Stop()
	for {
		if err := xproto.MapWindowChecked(d.conn, w).Check(); err != nil {
			return err
		}
		if err := await(events, again.C, come); !errors.Is(err, errAgain) {
			return err
		}
	}
}

// await asks after every event whether what's awaited has come; errAgain when limit comes first.
func await(events <-chan struct{}, limit <-chan time.Time, come func() (bool, error)) error {
	for {
		if ok, err := come(); ok || err != nil {
			return err
		}
		select {
		case _, ok := <-events:
			if !ok {
				return errClosed
			}
		case <-limit:
			return errAgain
		}
	}
}

// listed tells whether the manager manages a window.
func (d *Display) listed(w xproto.Window) (bool, error) {
	list, err := d.clients()
	return slices.Contains(list, w), err
}

// newProbe makes a window as small as can be.
func (d *Display) newProbe() (xproto.Window, error) {
	id, err := xproto.NewWindowId(d.conn)
	if err != nil {
		return 0, err
	}
	return id, xproto.CreateWindowChecked(d.conn, d.screen.RootDepth, id, d.screen.Root, 0, 0, 1, 1, 0,
		xproto.WindowClassInputOutput, d.screen.RootVisual, 0, nil).Check()
}

func (d *Display) watchProperties(w xproto.Window) error {
	return xproto.ChangeWindowAttributesChecked(d.conn, w,
		xproto.CwEventMask, []uint32{xproto.EventMaskPropertyChange}).Check()
}

// events tells that there was one, until the connection ends.
func (d *Display) events() <-chan struct{} {
	some := make(chan struct{}, 1)
	go func() {
		defer close(some)
		for {
			event, err := d.conn.WaitForEvent()
			if event == nil && err == nil {
				return
			}
			select {
			case some <- struct{}{}:
			default:
			}
		}
	}()
	return some
}
