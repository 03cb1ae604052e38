package x11

import (
	"context"
	"errors"

	"github.com/jezek/xgb/xproto"
)

// AwaitManager waits until a window manager manages the display (EWMH's _NET_SUPPORTING_WM_CHECK).
// It takes the connection's events, so it isn't for a Display that a Clipboard has.
func (d *Display) AwaitManager(ctx context.Context) error {
	return d.within(ctx, func() error {
		err := xproto.ChangeWindowAttributesChecked(d.conn, d.screen.Root,
			xproto.CwEventMask, []uint32{xproto.EventMaskPropertyChange}).Check()
		if err != nil {
			return err
		}
		for {
			if managed, err := d.managed(); managed || err != nil {
				return err
			}
			if event, err := d.conn.WaitForEvent(); event == nil && err == nil {
				return errors.New("it closed the connection")
			}
		}
	})
}

// managed: the root names a window that names itself. A manager that's gone leaves the root's.
func (d *Display) managed() (bool, error) {
	w, err := d.number(d.screen.Root, "_NET_SUPPORTING_WM_CHECK")
	if w == 0 || err != nil {
		return false, err
	}
	itself, err := d.number(xproto.Window(w), "_NET_SUPPORTING_WM_CHECK")
	if _, gone := err.(xproto.WindowError); gone { //nolint:errorlint // xgb's errors are never wrapped
		return false, nil
	}
	return itself == w, err
}
