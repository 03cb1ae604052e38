package x11

import (
	"context"
	"fmt"
	"sync"

	"github.com/jezek/xgb/xproto"
)

// chunk is the most of a text that's handed over in one piece, in bytes; longer text goes in pieces,
// by ICCCM's INCR. It's well below the 256 KiB that any server takes as one request.
const chunk = 64 << 10

// Clipboard offers a text as the display's clipboard, until another program takes it or it's closed.
// Whoever pastes asks for the text there and then, so it must stay open until that is done.
type Clipboard struct {
	display *Display
	window  xproto.Window
	names   names
	done    chan struct{}

	mu    sync.Mutex
	text  string
	owned bool

	sending map[place]piece // texts that go in pieces; only serve touches it
}

// place is where one paste's pieces are put.
type place struct {
	requestor xproto.Window
	property  xproto.Atom
}

// piece is what's left to put there, and its type.
type piece struct {
	kind xproto.Atom
	left []byte
}

// OpenClipboard makes a clipboard on a local display, on a connection of its own; it's nobody's yet.
func OpenClipboard(ctx context.Context, display string) (*Clipboard, error) {
	d, err := Open(ctx, display)
	if err != nil {
		return nil, err
	}
	c := &Clipboard{display: d, done: make(chan struct{}), sending: map[place]piece{}}
	if err := d.within(ctx, c.init); err != nil {
		d.Close()
		return nil, err
	}
	go c.serve()
	return c, nil
}

func (c *Clipboard) init() error {
	d := c.display
	for name, a := range c.names.all() {
		var err error
		if *a, err = d.atom(name); err != nil {
			return err
		}
	}
	id, err := xproto.NewWindowId(d.conn)
	if err != nil {
		return err
	}
	c.window = id
	return xproto.CreateWindowChecked(d.conn, 0, id, d.screen.Root, -1, -1, 1, 1, 0,
		xproto.WindowClassInputOnly, xproto.WindowClassCopyFromParent, 0, nil).Check()
}

// Set offers text, which takes the clipboard from whoever has it.
func (c *Clipboard) Set(ctx context.Context, text string) error {
	d := c.display
	return d.within(ctx, func() error {
		c.mu.Lock()
		c.text, c.owned = text, true
		c.mu.Unlock()
		err := xproto.SetSelectionOwnerChecked(d.conn, c.window, c.names.clipboard, xproto.TimeCurrentTime).Check()
		if err != nil {
			return err
		}
		reply, err := xproto.GetSelectionOwner(d.conn, c.names.clipboard).Reply()
		if err == nil && reply.Owner != c.window {
			err = fmt.Errorf("%w: %#x has it", ErrClipboard, reply.Owner)
		}
		return err
	})
}

// Owned tells whether a paste would still give the text that was Set.
func (c *Clipboard) Owned() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.owned
}

// Close gives the clipboard up.
func (c *Clipboard) Close() {
	c.display.Close()
	<-c.done
}

// serve answers until the connection ends.
func (c *Clipboard) serve() {
	defer close(c.done)
	defer c.lost()
	for {
		event, err := c.display.conn.WaitForEvent()
		if event == nil && err == nil {
			return
		}
		switch e := event.(type) { // an error is a requestor's that is gone
		case xproto.SelectionClearEvent:
			c.lost()
		case xproto.SelectionRequestEvent:
			c.answer(e)
		case xproto.PropertyNotifyEvent:
			c.proceed(e)
		case xproto.DestroyNotifyEvent:
			c.forget(e.Window)
		}
	}
}

func (c *Clipboard) lost() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.owned = false
}

func (c *Clipboard) current() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text
}
