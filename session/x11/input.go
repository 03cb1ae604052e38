package x11

import (
	"context"
	"fmt"

	"github.com/jezek/xgb/xproto"
	"github.com/jezek/xgb/xtest"
)

// Left is the pointer's first button.
const Left = 1

// Keysyms of the keys that a driver presses (X11/keysymdef.h). A Latin-1 character is its own.
const (
	KeyReturn  Keysym = 0xff0d
	KeyEscape  Keysym = 0xff1b
	KeyTab     Keysym = 0xff09
	KeyShift   Keysym = 0xffe1
	KeyControl Keysym = 0xffe3
	KeyAlt     Keysym = 0xffe9
	KeyDelete  Keysym = 0xffff
)

// Keysym names a key by what it stands for.
type Keysym uint32

// Move puts the pointer at a point of the screen.
func (d *Display) Move(ctx context.Context, x, y int) error {
	w, h := d.Size()
	if x < 0 || y < 0 || x >= w || y >= h {
		return fmt.Errorf("%d,%d: %w of %dx%d", x, y, ErrPoint, w, h)
	}
	return d.within(ctx, func() error {
		return d.fake(xproto.MotionNotify, 0, x, y)
	})
}

// Click moves the pointer to a point and presses and releases a button there, as a person does. What
// the app makes of it comes later, and isn't waited for.
func (d *Display) Click(ctx context.Context, x, y int, button byte) error {
	if err := d.Move(ctx, x, y); err != nil {
		return err
	}
	return d.within(ctx, func() error {
		if err := d.fake(xproto.ButtonPress, button, 0, 0); err != nil {
			return err
		}
		return d.fake(xproto.ButtonRelease, button, 0, 0)
	})
}

// Press presses keys together, as in Press(ctx, KeyControl, 'v'): one after the other, and releases
// them in the reverse order. They go to the window that has the focus.
func (d *Display) Press(ctx context.Context, keys ...Keysym) error {
	return d.within(ctx, func() error {
		codes, err := d.keycodes(keys)
		if err != nil {
			return err
		}
		for i, c := range codes {
			if err := d.fake(xproto.KeyPress, c, 0, 0); err != nil {
				_ = d.release(codes[:i]) // the first error is the one to tell
				return err
			}
		}
		return d.release(codes)
	})
}

// release releases all keys, last first, and gives the first error.
func (d *Display) release(codes []byte) (err error) {
	for i := len(codes) - 1; i >= 0; i-- {
		if e := d.fake(xproto.KeyRelease, codes[i], 0, 0); err == nil {
			err = e
		}
	}
	return err
}

// fake has the server make one input event.
func (d *Display) fake(event, detail byte, x, y int) error {
	return xtest.FakeInputChecked(d.conn, event, detail, 0, d.screen.Root, int16(x), int16(y), 0).Check()
}

// keycodes looks up keys in the keyboard's table, in its first column: what a key gives by itself.
func (d *Display) keycodes(keys []Keysym) ([]byte, error) {
	first, last := d.setup.MinKeycode, d.setup.MaxKeycode
	table, err := xproto.GetKeyboardMapping(d.conn, first, byte(last-first+1)).Reply()
	if err != nil {
		return nil, err
	}
	byKey := map[Keysym]byte{}
	for code := int(last); code >= int(first); code-- {
		i := (code - int(first)) * int(table.KeysymsPerKeycode)
		byKey[Keysym(table.Keysyms[i])] = byte(code)
	}
	codes := make([]byte, len(keys))
	for i, k := range keys {
		code, ok := byKey[k]
		if !ok {
			return nil, fmt.Errorf("keysym %#x: %w", uint32(k), ErrNoKey)
		}
		codes[i] = code
	}
	return codes, nil
}
