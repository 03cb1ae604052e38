package driver

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/session/atspi"
	"github.com/berth-run/berth/session/x11"
)

// Opener hands a draft over to the running app, "" for none, and returns when the app has taken it. It
// says nothing of when the draft will be on screen. An error's code is passed on.
type Opener func(ctx context.Context, draft string) error

// Options say which app is driven, and by what means.
type Options struct {
	Accessibility string // the accessibility bus's address
	Display       string // such as ":0"
	Apps          []App  // that may be meant; nil is Known
	// Owns tells whether a process is the app's that was started; nil: any is.
	Owns   func(pid int) bool
	Open   Opener
	Limits Limits
}

// Driver drives one app from its start to its end. It's for one call at a time.
type Driver struct {
	opts    Options
	limits  Limits
	bus     *atspi.Bus
	display *x11.Display
	app     *atspi.App // nil until it was found
	row     App
}

// New connects to a desktop. Make a Driver for each start of the app, and close it when the app has
// ended (see atspi.Open).
func New(ctx context.Context, opts Options) (*Driver, error) {
	limits, err := opts.Limits.withDefaults()
	if err != nil {
		return nil, err
	}
	if opts.Apps == nil {
		opts.Apps = Known
	}
	bus, err := atspi.OpenAddress(ctx, opts.Accessibility)
	if err != nil {
		return nil, code.Errorf(code.DesktopDriverFailed, "%w", err)
	}
	display, err := x11.Open(ctx, opts.Display)
	if err != nil {
		bus.Close()
		return nil, code.Errorf(code.DesktopDriverFailed, "%w", err)
	}
	return &Driver{opts: opts, limits: limits, bus: bus, display: display}, nil
}

// Close ends the connections, and whatever waits on them.
func (d *Driver) Close() {
	d.bus.Close()
	d.display.Close()
}

// Dump is all that the app shows, with its texts: evidence to be redacted before it's kept.
func (d *Driver) Dump(ctx context.Context) ([]atspi.Object, error) {
	if err := d.attach(ctx); err != nil {
		return nil, err
	}
	return d.app.Dump(ctx)
}

// attach finds the app and waits until it shows something.
func (d *Driver) attach(ctx context.Context) error {
	if d.app != nil {
		return nil
	}
	app, err := d.bus.Find(ctx, d.identities()...)
	if err != nil {
		return err
	}
	if _, err := app.Ready(ctx); err != nil {
		return err
	}
	// Not by its process again, which may have ended.
	row := slices.IndexFunc(d.opts.Apps, func(row App) bool { return row.identity(nil).Matches(app) })
	d.app, d.row = app, d.opts.Apps[row]
	return nil
}

func (d *Driver) identities() []atspi.Identity {
	var ids []atspi.Identity
	for _, row := range d.opts.Apps {
		ids = append(ids, row.identity(d.opts.Owns))
	}
	return ids
}

// alone makes sure that no other app of the same name has come: it couldn't be told which one is seen.
func (d *Driver) alone(ctx context.Context) error { return d.bus.Alone(ctx, d.identities()...) }

// run is one Prepare or Submit.
type run struct {
	*Driver
	wanted   Surface
	controls *Controls
	receipt  Receipt
	phase    Phase
	step     Step
	seen     *atspi.Tree       // at the last look
	looked   func(*atspi.Tree) // at each look, if not nil
	asks     *question         // what somebody would have to answer, as long as it's on screen
	since    time.Time         // when that was first seen
}

// do runs a Prepare or a Submit within its limits, and writes its receipt.
func (d *Driver) do(ctx context.Context, s Surface, done Status, work func(context.Context, *run) error) (Receipt, error) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, d.limits.Overall)
	defer cancel()
	r := &run{Driver: d, wanted: s, receipt: Receipt{Surface: s, Status: done, Steps: []Action{}}}
	err := valid(s)
	if err == nil {
		err = work(ctx, r)
	}
	if err != nil {
		err = r.fail(ctx, err)
	}
	r.receipt.App, r.receipt.DurationMs = d.row.Name, time.Since(began).Milliseconds()
	return r.receipt, err
}

func valid(s Surface) error {
	if s != Work && s != Codex {
		return code.Errorf(code.InvalidSurface, "%q, want %q or %q", s, Work, Codex)
	}
	return nil
}

// fail writes down a failure and what could be seen, and returns it with its code.
func (r *run) fail(ctx context.Context, err error) error {
	c := code.Of(err)
	switch {
	case c != "":
	case errors.Is(err, context.Canceled):
		c = code.Cancelled
	default:
		c = code.DesktopDriverFailed
	}
	r.receipt.Status, r.receipt.Error, r.receipt.Phase, r.receipt.Step = Failed, c, r.phase, r.step
	r.receipt.DraftState = r.draftState(ctx)
	if code.Of(err) == "" {
		return code.Errorf(c, "%w", err)
	}
	return err
}

// await looks at the app until see is satisfied, or until limit is over: then over is true. what is as of
// atspi's Await. An error of see's comes before the end of limit: what it's about may have been done.
func (r *run) await(ctx context.Context, limit time.Duration, what string, see func(*atspi.Tree) (bool, error)) (over bool, err error) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var failed error
	_, err = r.app.Await(limited, what, func(t *atspi.Tree) (ok bool, _ error) {
		if r.seen = t; r.looked != nil {
			r.looked(t)
		}
		ok, failed = see(t)
		return ok, failed
	})
	switch {
	case failed != nil:
		return false, failed
	case late(ctx, limited, err):
		return true, nil
	}
	return false, err
}

// late tells whether err says that limited's time is over while ctx's isn't.
func late(ctx, limited context.Context, err error) bool {
	return code.Of(err) == code.DeadlineExceeded && limited.Err() != nil && ctx.Err() == nil
}
