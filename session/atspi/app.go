package atspi

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/godbus/dbus/v5"
)

// App is an app on the accessibility bus. Its Ref is the root of its tree.
type App struct {
	Ref
	Name    string
	PID     int
	Process string // the base name of its executable
	Toolkit string // "Chromium", "gtk"
	windows int32

	bus *Bus
}

// Identity tells by what an app is known. It's data of the caller's: names differ by version, and an
// app made of Chromium may register as just that.
type Identity struct {
	Names     []string // any of these on the bus, whatever the case
	Processes []string // any of these as executable; none: any
	// Owns, if not nil, tells whether a process belongs to the app that is meant.
	Owns func(pid int) bool
}

// Matches tells whether an app is the one that is meant.
func (id Identity) Matches(a *App) bool {
	return slices.ContainsFunc(id.Names, func(n string) bool { return strings.EqualFold(n, a.Name) }) &&
		(len(id.Processes) == 0 || slices.Contains(id.Processes, a.Process)) &&
		(id.Owns == nil || id.Owns(a.PID))
}

// Find waits for the one app that answers to one of the identities and has a window. An app may register
// a second time with nothing in it; that one doesn't count. Errors: ErrAppAmbiguous; when ctx's time is
// over ErrNotEnabled if all there is of the app is empty, else ErrDeadline.
func (b *Bus) Find(ctx context.Context, ids ...Identity) (*App, error) {
	var app *App
	empty := false
	what := "the app " + names(ids)
	err := b.until(ctx, "", what, func() (ok bool, err error) {
		apps, err := b.Apps(ctx)
		if err != nil {
			return false, err
		}
		app, empty, err = choose(apps, ids)
		return app != nil, err
	})
	if empty && errors.Is(err, ErrDeadline) {
		return nil, fail(ErrNotEnabled, "%s is on the accessibility bus and has no window", what)
	}
	return app, err
}

func names(ids []Identity) string {
	var all []string
	for _, id := range ids {
		all = append(all, id.Names...)
	}
	return strings.Join(all, " or ")
}

// choose picks the app that is meant; empty tells that there are only such without a window.
func choose(apps []*App, ids []Identity) (app *App, empty bool, err error) {
	var with []*App
	for _, a := range apps {
		if slices.ContainsFunc(ids, func(id Identity) bool { return id.Matches(a) }) {
			empty = true
			if a.windows > 0 {
				with = append(with, a)
			}
		}
	}
	switch len(with) {
	case 0:
		return nil, empty, nil
	case 1:
		return with[0], false, nil
	}
	return nil, false, fail(ErrAppAmbiguous, "%d apps are named %s", len(with), names(ids))
}

// Alone fails with ErrAppAmbiguous when several apps answer to the identities by now.
func (b *Bus) Alone(ctx context.Context, ids ...Identity) error {
	apps, err := b.Apps(ctx)
	if err == nil {
		_, _, err = choose(apps, ids)
	}
	return err
}

// Apps lists the apps on the accessibility bus. Those that leave meanwhile are left out, and there are
// none while the registry is still coming up.
func (b *Bus) Apps(ctx context.Context) ([]*App, error) {
	var refs []Ref
	if err := b.call(ctx, method(desktop, "Accessible.GetChildren"), &refs); err != nil {
		if gone(err) && b.conn.Connected() || replied(err) {
			return nil, nil
		}
		return nil, judge(err)
	}
	if len(refs) > maxApps {
		return nil, fail(ErrTreeBudget, "%d apps are on the accessibility bus (at most %d)", len(refs), maxApps)
	}
	return b.describe(ctx, refs), ctx.Err()
}

func (b *Bus) describe(ctx context.Context, refs []Ref) []*App {
	var requests []request
	for _, r := range refs {
		requests = append(requests,
			property(r, "Accessible.Name"), property(r, "Accessible.ChildCount"), property(r, "Application.ToolkitName"),
			request{busItself, busItself.Bus + ".GetConnectionUnixProcessID", []any{r.Bus}})
	}
	calls := b.callAll(ctx, requests)
	var apps []*App
	for i, r := range refs {
		a := &App{Ref: r, bus: b}
		var pid uint32
		c := calls[4*i:]
		if c[0].Store(&a.Name) != nil || c[1].Store(&a.windows) != nil || c[3].Store(&pid) != nil {
			continue
		}
		_ = c[2].Store(&a.Toolkit) // some tell none
		a.PID, a.Process = int(pid), process(int(pid))
		apps = append(apps, a)
	}
	return apps
}

// busItself is the message bus as an object.
var busItself = Ref{"org.freedesktop.DBus", dbus.ObjectPath("/org/freedesktop/DBus")}

// process is the base name of a process's executable; where that can't be read, of its command.
func process(pid int) string {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	if exe, err := os.Readlink(filepath.Join(dir, "exe")); err == nil {
		return strings.TrimSuffix(filepath.Base(exe), " (deleted)")
	}
	comm, _ := os.ReadFile(filepath.Join(dir, "comm")) // "" for a process that has ended
	return strings.TrimSpace(string(comm))
}
