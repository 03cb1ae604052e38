package containerd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/godbus/dbus/v5"
)

// sliceEnd bounds the wait for a slice's end, in which nothing runs any more.
const sliceEnd = 30 * time.Second

// release has systemd end a shard's slice, and waits until its group is gone.
func (g grouping) release(ctx context.Context, id string) error {
	if g.manager == "" {
		return nil // the runtime removes what it made
	}
	ctx, cancel := context.WithTimeout(ctx, sliceEnd)
	defer cancel()
	err := g.stop(ctx, slice(id))
	if err == nil {
		err = awaitGone(ctx, g.sliceDir(id))
	}
	if err != nil {
		return fmt.Errorf("systemd's %s isn't stopped: %w", slice(id), err)
	}
	return nil
}

// stop asks for the end of a unit. One that isn't there has ended.
func (g grouping) stop(ctx context.Context, unit string) error {
	conn, err := dbus.Dial("unix:path="+g.manager, dbus.WithContext(ctx))
	if err != nil {
		return err
	}
	defer conn.Close()
	// The manager's own socket is no bus: there's nobody to greet.
	if err := conn.Auth([]dbus.Auth{dbus.AuthExternal(strconv.Itoa(os.Geteuid()))}); err != nil {
		return err
	}
	systemd := conn.Object("org.freedesktop.systemd1", "/org/freedesktop/systemd1")
	err = systemd.CallWithContext(ctx, "org.freedesktop.systemd1.Manager.StopUnit", 0, unit, "replace").Err
	var said dbus.Error
	if errors.As(err, &said) && said.Name == "org.freedesktop.systemd1.NoSuchUnit" {
		return nil
	}
	return err
}

// awaitGone polls: of a group's end there is no event.
func awaitGone(ctx context.Context, dir string) error {
	for {
		if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err := sleep(ctx, 10*time.Millisecond); err != nil {
			return fmt.Errorf("%s is still there: %w", dir, err)
		}
	}
}
