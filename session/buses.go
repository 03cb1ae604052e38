package session

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/godbus/dbus/v5"

	"github.com/berth-run/berth/session/bus"
	"github.com/berth-run/berth/session/keyring"
)

// busAnswers waits for the line that the daemon prints when it listens, then connects.
func busAnswers(ctx context.Context, s *Session, stdout io.Reader) error {
	line := make(chan error, 1)
	go func() {
		_, err := bufio.NewReader(stdout).ReadString('\n')
		line <- err
	}()
	select {
	case err := <-line:
		if err != nil {
			return fmt.Errorf("it told no address: %w", err)
		}
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	conn, err := bus.Connect(ctx, s.cfg.busAddress())
	s.conn = conn
	return err
}

// updateActivation gives the bus's own children the services' environment.
func updateActivation(ctx context.Context, s *Session, _ io.Reader) error {
	env := map[string]string{}
	for _, kv := range s.cfg.services() {
		name, value, _ := strings.Cut(kv, "=")
		env[name] = value
	}
	return s.conn.BusObject().CallWithContext(ctx, "org.freedesktop.DBus.UpdateActivationEnvironment", 0, env).Err
}

func (s *Session) writeKeyring() error { return keyring.Write(s.cfg.dataHome()) }

func keyringOpens(ctx context.Context, s *Session, _ io.Reader) error {
	return keyring.Open(ctx, s.conn)
}

// accessibilityOn asks for the accessibility bus and tells apps to publish on it, which most only look
// up when they start.
func accessibilityOn(ctx context.Context, s *Session, _ io.Reader) error {
	if _, err := bus.AwaitOwner(ctx, s.conn, "org.a11y.Bus"); err != nil {
		return err
	}
	launcher := s.conn.Object("org.a11y.Bus", "/org/a11y/bus")
	call := func(method string, args ...any) *dbus.Call {
		return launcher.CallWithContext(ctx, method, dbus.FlagNoAutoStart, args...)
	}
	if err := call("org.a11y.Bus.GetAddress").Store(&s.a11yAddr); err != nil {
		return err
	}
	for _, name := range []string{"IsEnabled", "ScreenReaderEnabled"} {
		const properties = "org.freedesktop.DBus.Properties."
		if err := call(properties+"Set", "org.a11y.Status", name, dbus.MakeVariant(true)).Err; err != nil {
			return fmt.Errorf("setting %s: %w", name, err)
		}
		var on dbus.Variant
		if err := call(properties+"Get", "org.a11y.Status", name).Store(&on); err != nil {
			return fmt.Errorf("reading %s: %w", name, err)
		}
		if on.Value() != true {
			return fmt.Errorf("%s is %v after it was set", name, on)
		}
	}
	conn, err := bus.Connect(ctx, s.a11yAddr)
	s.a11y = conn
	return err
}

// registryAnswers asks for something that changes nothing. It doesn't register for events: what an app
// caches is decided when it first hears of a listener, which is for the driver to time.
func registryAnswers(ctx context.Context, s *Session, _ io.Reader) error {
	const name = "org.a11y.atspi.Registry"
	if _, err := bus.AwaitOwner(ctx, s.a11y, name); err != nil {
		return err
	}
	registry := s.a11y.Object(name, "/org/a11y/atspi/registry")
	return registry.CallWithContext(ctx, name+".GetRegisteredEvents", dbus.FlagNoAutoStart).Err
}
