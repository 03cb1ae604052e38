// Package x11 is what a driver needs of a display that accessibility doesn't give: a picture of the
// screen, one real click or key press, the focus, the clipboard, and which window is at a point. It
// speaks X11 itself, so a shard needs no tool for it, and it isn't a toolkit: it draws nothing.
package x11

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"strings"
	"sync"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"
	"github.com/jezek/xgb/xtest"
)

func init() {
	// xgb tells stderr what it also returns as an error.
	xgb.Logger = log.New(io.Discard, "", 0)
}

// Display is one connection to an X server. Its methods may be called from several goroutines. When
// the context of a call ends before the server has answered, the whole connection is closed: a server
// that doesn't answer one call won't answer the next.
type Display struct {
	conn   *xgb.Conn
	socket net.Conn
	screen *xproto.ScreenInfo
	setup  *xproto.SetupInfo

	mu    sync.Mutex
	atoms map[string]xproto.Atom
}

// Open connects to a local display, such as ":0". ctx bounds the opening.
func Open(ctx context.Context, display string) (*Display, error) {
	path, err := socketPath(display)
	if err != nil {
		return nil, err
	}
	var dialer net.Dialer
	socket, err := dialer.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDisplay, err)
	}
	d := &Display{socket: socket, atoms: map[string]xproto.Atom{}}
	if err := d.greet(ctx); err != nil {
		socket.Close()
		return nil, err
	}
	return d, nil
}

// socketPath is where the server of a local display listens; a screen's number may follow.
func socketPath(display string) (string, error) {
	number, ok := strings.CutPrefix(display, ":")
	number, _, _ = strings.Cut(number, ".")
	if !ok || number == "" || strings.Trim(number, "0123456789") != "" {
		return "", fmt.Errorf("%w: %q isn't a local one such as :0", ErrDisplay, display)
	}
	return "/tmp/.X11-unix/X" + number, nil
}

func (d *Display) greet(ctx context.Context) error {
	return d.within(ctx, func() error {
		conn, err := xgb.NewConnNet(d.socket)
		if err != nil {
			return err
		}
		d.conn = conn
		d.setup = xproto.Setup(conn)
		d.screen = d.setup.DefaultScreen(conn)
		return xtest.Init(conn)
	})
}

// within runs a call, and closes the connection if ctx ends before it does.
func (d *Display) within(ctx context.Context, call func() error) error {
	stop := context.AfterFunc(ctx, func() { d.socket.Close() })
	err := call()
	switch {
	case !stop():
		return fmt.Errorf("%w: %w", ErrDisplay, context.Cause(ctx))
	case err != nil:
		return fmt.Errorf("%w: %w", ErrDisplay, err)
	default:
		return nil
	}
}

// Close ends the connection, and whatever still waits on it.
func (d *Display) Close() {
	d.conn.Close()
	d.socket.Close()
}

// Size is the screen's, in pixels.
func (d *Display) Size() (width, height int) {
	return int(d.screen.WidthInPixels), int(d.screen.HeightInPixels)
}

// atom gives the number of a name; the server keeps it as long as it lives.
func (d *Display) atom(name string) (xproto.Atom, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if a, ok := d.atoms[name]; ok {
		return a, nil
	}
	reply, err := xproto.InternAtom(d.conn, false, uint16(len(name)), name).Reply()
	if err != nil {
		return 0, err
	}
	d.atoms[name] = reply.Atom
	return reply.Atom, nil
}

// property reads a property of at most limit bytes; none is nil.
func (d *Display) property(w xproto.Window, name string, limit int) ([]byte, error) {
	a, err := d.atom(name)
	if err != nil {
		return nil, err
	}
	reply, err := xproto.GetProperty(d.conn, false, w, a, xproto.GetPropertyTypeAny, 0, uint32(limit+3)/4).Reply()
	if err != nil {
		return nil, err
	}
	return reply.Value[:min(len(reply.Value), limit)], nil
}

// number reads a property of one 32-bit value; none is 0.
func (d *Display) number(w xproto.Window, name string) (uint32, error) {
	value, err := d.property(w, name, 4)
	if err != nil || len(value) < 4 {
		return 0, err
	}
	return xgb.Get32(value), nil
}
