package chatgpt

import (
	"context"

	"github.com/godbus/dbus/v5"

	"github.com/berth-run/berth/session"
	"github.com/berth-run/berth/session/atspi"
	"github.com/berth-run/berth/session/client/chatgpt/driver"
	"github.com/berth-run/berth/session/keyring"
)

// window is what drives the app's window, *driver.Driver but in tests.
type window interface {
	Prepare(context.Context, driver.Surface) (driver.Receipt, error)
	Submit(ctx context.Context, s driver.Surface, prompt string) (driver.Receipt, error)
	Inspect(context.Context, driver.Surface) driver.Inspection
	Asks(context.Context) error
	Dump(context.Context) ([]atspi.Object, error)
	Close()
}

func openWindow(ctx context.Context, o driver.Options) (window, error) {
	d, err := driver.New(ctx, o)
	if err != nil {
		return nil, err // not d, which would be a window that is nil
	}
	return d, nil
}

// desktop is a running session, *session.Session but in tests.
type desktop interface {
	Env() []string
	Bus() *dbus.Conn
	Done() <-chan struct{}
	Err() error
	Whole() bool
}

// secrets is what is asked of the desktop's keyring, package keyring but in tests.
type secrets struct {
	check func(context.Context, *dbus.Conn) error
	clear func(context.Context, *dbus.Conn) error
}

var loginKeyring = secrets{check: keyring.Check, clear: keyring.Clear}

func desktopOf(get func(context.Context) (*session.Session, error)) func(context.Context) (desktop, error) {
	return func(ctx context.Context) (desktop, error) {
		s, err := get(ctx)
		if err != nil {
			return nil, err // not s, which would be a desktop that is nil
		}
		return s, nil
	}
}
