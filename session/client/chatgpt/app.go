package chatgpt

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/redact"
	"github.com/berth-run/berth/session/client/process"
)

// flags are the app's, at every start (contract §4.1).
var flags = []string{
	"--no-sandbox", "--ozone-platform=x11", "--force-renderer-accessibility", "--disable-gpu",
	"--disable-dev-shm-usage", "--enable-logging=stderr", "--v=0",
}

// maxLog is how much of the end of what an app says is kept, in bytes.
const maxLog = 4 << 20

// app is one start of the app, on a desktop, with what drives its window.
type app struct {
	process *process.Process
	desktop desktop
	window  window
	redact  *redact.Set
	endWait time.Duration // Limits.End
	// alive ends with the app, or with its desktop; its cause says which, with a code.
	alive context.Context
	stop  context.CancelCauseFunc
	// handed tells that the present Prepare or Submit has had its hand-off.
	handed bool
}

// launch is what an app is started with.
type launch struct {
	path, dir string
	env       []string
	mark      string
	desktop   desktop
	redact    *redact.Set
	limits    Limits
}

// start starts the app and leaves it alone for a moment.
func start(ctx context.Context, l launch) (*app, error) {
	p, err := process.Start(process.Spec{
		Path: l.path, Args: flags, Dir: l.dir, Env: l.env, Mark: l.mark, Joined: true, Keep: maxLog,
	})
	if err != nil {
		return nil, code.Errorf(code.AppStartFailed, "%w", err)
	}
	a := &app{process: p, desktop: l.desktop, redact: l.redact, endWait: l.limits.End}
	a.alive, a.stop = context.WithCancelCause(context.Background())
	go a.watch()
	timer := time.NewTimer(l.limits.Settle)
	defer timer.Stop()
	select {
	case <-timer.C:
		return a, nil
	case <-a.alive.Done():
		return a, context.Cause(a.alive)
	case <-ctx.Done():
		return a, context.Cause(ctx)
	}
}

// How long an app's end may take to be known where its window was seen to go, and where it may just as
// well run on. The end of its desktop is no matter of time: that is asked.
const (
	endWait   = 15 * time.Second
	doubtWait = time.Second
)

func (a *app) watch() {
	select {
	case <-a.desktop.Done():
	case <-a.alive.Done():
		return
	case <-a.process.Done():
		if a.desktop.Whole() {
			a.stop(code.Errorf(code.AppExited, "the app ended by itself (%s)%s", a.process.Exit(), lastWord(a.redact, a.process.Stderr())))
			return
		}
		// An app doesn't outlive its display: that was the cause.
		select {
		case <-a.desktop.Done():
		case <-a.alive.Done():
			return
		}
	}
	a.stop(desktopEnded(a.desktop))
}

// ending is why the app has ended, or is about to; nil when that doesn't show within a time.
func (a *app) ending(within time.Duration) error {
	if !a.desktop.Whole() {
		within = a.endWait
	}
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-a.alive.Done():
		return context.Cause(a.alive)
	case <-timer.C:
		return nil
	}
}

func desktopEnded(d desktop) error {
	err := d.Err()
	c := code.Of(err)
	if c == "" {
		c = code.SessionFailed
	}
	return code.Errorf(c, "the desktop ended: %w", err)
}

// with is ctx, ended also by the app's end.
func (a *app) with(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	unhook := context.AfterFunc(a.alive, func() { cancel(context.Cause(a.alive)) })
	return ctx, func() { unhook(); cancel(nil) }
}

// because is an error's cause, where that is the end of the context that it happened in, or of the app.
func (a *app) because(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	// A window, a bus or the display was seen to go; what it was that ended shows a moment later.
	switch code.Of(err) {
	case code.AppExited, code.DesktopGLibError:
		return cmp.Or(a.ending(a.endWait), err)
	case code.DesktopDriverFailed, code.HelperFailed, code.URLHandoffFailed:
		return cmp.Or(a.ending(doubtWait), err)
	}
	return err
}

// end ends the app whole. It gives ErrLeft's kind of error when something of it is left.
func (a *app) end(ctx context.Context) error {
	if a.window != nil {
		a.window.Close()
	}
	a.stop(errStopped)
	if err := a.process.End(ctx); err != nil {
		return code.Errorf(code.AppStopFailed, "%w", err)
	}
	return nil
}

// errStopped: the client itself ended the app.
var errStopped = &code.Error{Code: code.AppNotRunning, Detail: "the app was stopped"}

// lastWord is the last line of what a program said, for an error. It's redacted before it's cut.
func lastWord(secrets *redact.Set, said string) string {
	lines := strings.Split(strings.TrimSpace(said), "\n")
	last := secrets.String(strings.TrimSpace(lines[len(lines)-1]))
	if last == "" {
		return ""
	}
	return ": " + last[:min(len(last), 300)]
}
