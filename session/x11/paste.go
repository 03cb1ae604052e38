package x11

import (
	"encoding/binary"
	"iter"

	"github.com/jezek/xgb/xproto"
)

// names are the atoms that a clipboard speaks of.
type names struct {
	clipboard, targets, incr, utf8, plainUTF8, plain, textAtom xproto.Atom
}

func (n *names) all() iter.Seq2[string, *xproto.Atom] {
	return func(yield func(string, *xproto.Atom) bool) {
		for name, a := range map[string]*xproto.Atom{
			"CLIPBOARD": &n.clipboard, "TARGETS": &n.targets, "INCR": &n.incr, "UTF8_STRING": &n.utf8,
			"text/plain;charset=utf-8": &n.plainUTF8, "text/plain": &n.plain, "TEXT": &n.textAtom,
		} {
			if !yield(name, a) {
				return
			}
		}
	}
}

// answer hands the text over as the requestor asked for it, or refuses (ICCCM §2.2).
func (c *Clipboard) answer(e xproto.SelectionRequestEvent) {
	if e.Property == 0 {
		e.Property = e.Target // what requestors of old leave out
	}
	if !c.hand(e) {
		e.Property = 0
	}
	notify := xproto.SelectionNotifyEvent{
		Time: e.Time, Requestor: e.Requestor, Selection: e.Selection, Target: e.Target, Property: e.Property,
	}
	xproto.SendEvent(c.display.conn, false, e.Requestor, 0, string(notify.Bytes()))
}

// hand puts the answer into the requestor's property; false refuses.
func (c *Clipboard) hand(e xproto.SelectionRequestEvent) bool {
	text, n := c.current(), c.names
	latin, isLatin := latin1(text)
	switch e.Target {
	case n.targets:
		targets := []xproto.Atom{n.targets, n.utf8, n.plainUTF8, n.plain, n.textAtom}
		if isLatin {
			targets = append(targets, xproto.AtomString)
		}
		return c.put(e.Requestor, e.Property, xproto.AtomAtom, 32, atoms(targets))
	case n.utf8, n.plainUTF8, n.plain:
		return c.give(e, e.Target, []byte(text))
	case n.textAtom: // the owner's choice
		return c.give(e, n.utf8, []byte(text))
	case xproto.AtomString: // Latin-1 by definition; other text isn't offered as one
		return isLatin && c.give(e, xproto.AtomString, latin)
	}
	return false
}

// give hands over data whole, or announces it and hands over the pieces as they are taken.
func (c *Clipboard) give(e xproto.SelectionRequestEvent, kind xproto.Atom, data []byte) bool {
	if len(data) <= chunk {
		return c.put(e.Requestor, e.Property, kind, 8, data)
	}
	// Its deletion of the property asks for the next piece; its end ends the transfer.
	err := xproto.ChangeWindowAttributesChecked(c.display.conn, e.Requestor, xproto.CwEventMask,
		[]uint32{xproto.EventMaskPropertyChange | xproto.EventMaskStructureNotify}).Check()
	if err != nil {
		return false
	}
	c.sending[place{e.Requestor, e.Property}] = piece{kind, data}
	size := binary.LittleEndian.AppendUint32(nil, uint32(len(data)))
	return c.put(e.Requestor, e.Property, c.names.incr, 32, size)
}

// proceed puts the next piece after the last was taken; an empty one is the end.
func (c *Clipboard) proceed(e xproto.PropertyNotifyEvent) {
	at := place{e.Window, e.Atom}
	p, ok := c.sending[at]
	if !ok || e.State != xproto.PropertyDelete {
		return
	}
	next := p.left[:min(chunk, len(p.left))]
	if !c.put(at.requestor, at.property, p.kind, 8, next) || len(next) == 0 {
		delete(c.sending, at)
		return
	}
	p.left = p.left[len(next):]
	c.sending[at] = p
}

// forget ends the transfers to a window.
func (c *Clipboard) forget(w xproto.Window) {
	for at := range c.sending {
		if at.requestor == w {
			delete(c.sending, at)
		}
	}
}

// put sets a property of items of the given size in bits; false when the window is gone.
func (c *Clipboard) put(w xproto.Window, property, kind xproto.Atom, bits byte, data []byte) bool {
	return xproto.ChangePropertyChecked(c.display.conn, xproto.PropModeReplace, w, property, kind, bits,
		uint32(len(data)/int(bits/8)), data).Check() == nil
}

func atoms(list []xproto.Atom) []byte {
	var b []byte
	for _, a := range list {
		b = binary.LittleEndian.AppendUint32(b, uint32(a))
	}
	return b
}

// latin1 gives text in Latin-1; false when it doesn't go.
func latin1(text string) ([]byte, bool) {
	b := make([]byte, 0, len(text))
	for _, r := range text {
		if r > 0xff {
			return nil, false
		}
		b = append(b, byte(r))
	}
	return b, true
}
