package x11

import (
	"context"
	"fmt"
	"unicode/utf8"

	"github.com/jezek/xgb/xproto"
)

// Keyboard types text. What the layout has no key for is put on keys that it leaves unused, each
// character on one of its own: with a single key for all of them, as AT-SPI's registry does it, an app
// that reads the layout late sees the wrong character, or none. It's for one goroutine at a time.
type Keyboard struct {
	display *Display
	columns int // keysyms of a key
	keys    map[Keysym]stroke
	spare   []byte   // unused keys
	put     []Keysym // what is on the first of them
	shift   byte
}

// stroke is a key, and whether Shift is held with it.
type stroke struct {
	code  byte
	shift bool
}

// OpenKeyboard reads the layout. The caller closes the Keyboard.
func (d *Display) OpenKeyboard(ctx context.Context) (*Keyboard, error) {
	k := &Keyboard{display: d, keys: map[Keysym]stroke{}}
	err := d.within(ctx, func() error {
		first, last := d.setup.MinKeycode, d.setup.MaxKeycode
		table, err := xproto.GetKeyboardMapping(d.conn, first, byte(last-first+1)).Reply()
		if err != nil {
			return err
		}
		k.columns = int(table.KeysymsPerKeycode)
		for code := int(first); code <= int(last); code++ {
			i := (code - int(first)) * k.columns
			k.learn(byte(code), table.Keysyms[i:i+k.columns])
		}
		return nil
	})
	k.shift = k.keys[KeyShift].code
	if err == nil && k.shift == 0 {
		err = fmt.Errorf("%w: Shift", ErrNoKey)
	}
	return k, err
}

// learn takes up a key with what it gives by itself and with Shift.
func (k *Keyboard) learn(code byte, syms []xproto.Keysym) {
	used := false
	for column, s := range syms {
		used = used || s != 0
		if _, known := k.keys[Keysym(s)]; s != 0 && column < 2 && !known {
			k.keys[Keysym(s)] = stroke{code, column == 1}
		}
	}
	if !used {
		k.spare = append(k.spare, code)
	}
}

// Type types the beginning of text, as far as there are unused keys for its characters, and tells how
// many bytes that is. The app must have taken these before the next call, since that may give the keys
// other meanings. A line break is Return.
func (k *Keyboard) Type(ctx context.Context, text string) (n int, err error) {
	n, added := k.fit(text)
	if n == 0 && text != "" {
		k.forget()
		n, added = k.fit(text)
	}
	if n == 0 && text != "" {
		first, _ := utf8.DecodeRuneInString(text)
		return 0, fmt.Errorf("%w for %q, and none is unused", ErrNoKey, first)
	}
	return n, k.display.within(ctx, func() error {
		if err := k.assign(added); err != nil {
			return err
		}
		for _, r := range text[:n] {
			if err := k.press(k.keys[keysym(r)]); err != nil {
				return err
			}
		}
		return nil
	})
}

// Press is Display's.
func (k *Keyboard) Press(ctx context.Context, keys ...Keysym) error {
	return k.display.Press(ctx, keys...)
}

// fit tells how many bytes of text can be typed, and which characters need a key for that.
func (k *Keyboard) fit(text string) (n int, added []Keysym) {
	needed := map[Keysym]bool{}
	for i, r := range text {
		sym := keysym(r)
		if _, ok := k.keys[sym]; ok || needed[sym] {
			continue
		}
		if len(k.put)+len(added) == len(k.spare) {
			return i, added
		}
		needed[sym] = true
		added = append(added, sym)
	}
	return len(text), added
}

// forget takes the unused keys back.
func (k *Keyboard) forget() {
	for _, sym := range k.put {
		delete(k.keys, sym)
	}
	k.put = nil
}

// assign puts characters on the next unused keys.
func (k *Keyboard) assign(syms []Keysym) error {
	codes := k.spare[len(k.put) : len(k.put)+len(syms)]
	if err := k.set(codes, syms); err != nil {
		return err
	}
	for i, sym := range syms {
		k.keys[sym] = stroke{code: codes[i]}
	}
	k.put = append(k.put, syms...)
	return nil
}

// set gives keys their characters, in every column, so that no modifier matters. Keys in a row are set
// at once: each change has every app read the layout anew.
func (k *Keyboard) set(codes []byte, syms []Keysym) error {
	for len(codes) > 0 {
		n := 1
		for n < len(codes) && codes[n] == codes[n-1]+1 {
			n++
		}
		table := make([]xproto.Keysym, 0, n*k.columns)
		for _, sym := range syms[:n] {
			for range k.columns {
				table = append(table, xproto.Keysym(sym))
			}
		}
		err := xproto.ChangeKeyboardMappingChecked(k.display.conn, byte(n), xproto.Keycode(codes[0]), byte(k.columns), table).Check()
		if err != nil {
			return err
		}
		codes, syms = codes[n:], syms[n:]
	}
	return nil
}

func (k *Keyboard) press(s stroke) error {
	codes := []byte{s.code}
	if s.shift {
		codes = []byte{k.shift, s.code}
	}
	for i, c := range codes {
		if err := k.display.fake(xproto.KeyPress, c, 0, 0); err != nil {
			_ = k.display.release(codes[:i]) // the first error is the one to tell
			return err
		}
	}
	return k.display.release(codes)
}

// Close gives the unused keys back to nobody.
func (k *Keyboard) Close(ctx context.Context) error {
	return k.display.within(ctx, func() error {
		err := k.set(k.spare[:len(k.put)], make([]Keysym, len(k.put)))
		if err == nil {
			k.forget()
		}
		return err
	})
}

// keysym is the keysym of a character: Latin-1's own number, else its number in Unicode with a mark
// (X11 protocol, appendix A).
func keysym(r rune) Keysym {
	switch {
	case r == '\n':
		return KeyReturn
	case r == '\t':
		return KeyTab
	case r < 0x100:
		return Keysym(r)
	}
	return 0x01000000 | Keysym(r)
}
