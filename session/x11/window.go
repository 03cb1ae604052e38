package x11

import (
	"context"
	"fmt"
	"image"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"
)

// The most that's read of a window's title, in bytes, and of the list of windows.
const (
	nameLimit   = 1 << 10
	windowLimit = 1 << 10
)

// Window is an app's window, as the window manager knows it.
type Window struct {
	ID    uint32
	Title string
	PID   uint32          // 0 when the app doesn't say
	Area  image.Rectangle // on the screen, without its frame
}

// WindowAt gives the app's window that a click at a point of the screen goes to; ok is false where
// there's only the root.
func (d *Display) WindowAt(ctx context.Context, x, y int) (w Window, ok bool, err error) {
	err = d.within(ctx, func() error {
		id, err := d.hit(x, y)
		if err != nil || id == 0 {
			return err
		}
		ok = true
		w, err = d.describe(id)
		return err
	})
	return w, ok, err
}

// Windows gives the apps' windows, those that the window manager manages, the oldest first.
func (d *Display) Windows(ctx context.Context) ([]Window, error) {
	var all []Window
	return all, d.within(ctx, func() error {
		list, err := d.clients()
		if err != nil {
			return err
		}
		for _, id := range list {
			w, err := d.describe(id)
			if err != nil {
				continue // closed meanwhile
			}
			all = append(all, w)
		}
		return nil
	})
}

// clients is the window manager's list (EWMH's _NET_CLIENT_LIST).
func (d *Display) clients() ([]xproto.Window, error) {
	raw, err := d.property(d.screen.Root, "_NET_CLIENT_LIST", 4*windowLimit)
	var list []xproto.Window
	for ; len(raw) >= 4; raw = raw[4:] {
		list = append(list, xproto.Window(xgb.Get32(raw)))
	}
	return list, err
}

// hit goes down from the root to the window at a point, and remembers the app's: the one with a
// WM_STATE, else the outermost (a menu or a tooltip has no manager).
func (d *Display) hit(x, y int) (xproto.Window, error) {
	var outermost xproto.Window
	for w := d.screen.Root; ; {
		reply, err := xproto.TranslateCoordinates(d.conn, d.screen.Root, w, int16(x), int16(y)).Reply()
		if err != nil {
			return 0, err
		}
		if reply.Child == 0 {
			return outermost, nil
		}
		w = reply.Child
		if outermost == 0 {
			outermost = w
		}
		state, err := d.property(w, "WM_STATE", 8)
		if err != nil {
			return 0, err
		}
		if len(state) > 0 {
			return w, nil
		}
	}
}

func (d *Display) describe(id xproto.Window) (Window, error) {
	w := Window{ID: uint32(id)}
	geometry, err := xproto.GetGeometry(d.conn, xproto.Drawable(id)).Reply()
	if err != nil {
		return w, err
	}
	origin, err := xproto.TranslateCoordinates(d.conn, id, d.screen.Root, 0, 0).Reply()
	if err != nil {
		return w, err
	}
	x, y := int(origin.DstX), int(origin.DstY)
	w.Area = image.Rect(x, y, x+int(geometry.Width), y+int(geometry.Height))
	if w.PID, err = d.number(id, "_NET_WM_PID"); err != nil {
		return w, err
	}
	title, err := d.property(id, "_NET_WM_NAME", nameLimit)
	if err == nil && len(title) == 0 {
		title, err = d.property(id, "WM_NAME", nameLimit)
	}
	w.Title = string(title)
	return w, err
}

// Focus gives a window the keyboard and sees that it has it: itself or something inside of it.
func (d *Display) Focus(ctx context.Context, id uint32) error {
	return d.within(ctx, func() error {
		w := xproto.Window(id)
		err := xproto.SetInputFocusChecked(d.conn, xproto.InputFocusParent, w, xproto.TimeCurrentTime).Check()
		if err != nil {
			return fmt.Errorf("%w: %w", ErrFocus, err)
		}
		reply, err := xproto.GetInputFocus(d.conn).Reply()
		if err != nil {
			return err
		}
		inside, err := d.inside(reply.Focus, w)
		if err == nil && !inside {
			err = fmt.Errorf("%w: %#x has it", ErrFocus, reply.Focus)
		}
		return err
	})
}

// inside tells whether w is outer or below it.
func (d *Display) inside(w, outer xproto.Window) (bool, error) {
	// 0 and 1 stand for nobody and for whatever is under the pointer.
	for w > 1 && w != d.screen.Root {
		if w == outer {
			return true, nil
		}
		tree, err := xproto.QueryTree(d.conn, w).Reply()
		if err != nil {
			return false, err
		}
		w = tree.Parent
	}
	return false, nil
}
