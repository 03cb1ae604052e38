package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/berth-run/berth/session"
	"github.com/berth-run/berth/session/client/process"
)

// The peer, and the window manager's configuration that both use; a bench runs in the checkout.
const (
	sessionScript = "scripts/bench/session.sh"
	windowRules   = "session/openbox.xml"
)

// benchSession compares the start of a desktop with that of the same services by a shell script. Both
// end at the same: see session.sh. What is ended is ended outside the clock.
func benchSession(ctx context.Context, n rounds, w io.Writer) error {
	var all []session.Timings
	ours := func(ctx context.Context) (time.Duration, error) {
		return at(func(p *place) (took time.Duration, err error) {
			var s *session.Session
			took, err = timed(func() (err error) {
				s, err = session.Start(ctx, p.Config)
				return err
			})
			if err != nil {
				return 0, err
			}
			all = append(all, s.Ready())
			return took, s.Close()
		})
	}
	script := func(ctx context.Context) (time.Duration, error) {
		return at(func(p *place) (time.Duration, error) { return runScript(ctx, p) })
	}
	printHead(w, "session", n, "the same services on the host")
	s, err := n.alternate(ctx, way{"session", ours}, way{"script", script})
	if err != nil {
		return err
	}
	printSession(w, s, all[n.warmup:])
	return nil
}

// at does something in a new place.
func at(do func(*place) (time.Duration, error)) (time.Duration, error) {
	p, err := newPlace()
	if err != nil {
		return 0, err
	}
	took, err := do(p)
	return took, errors.Join(err, p.remove())
}

// runScript times the script until it says that it's ready, and ends what it started.
func runScript(ctx context.Context, p *place) (took time.Duration, err error) {
	config, err := filepath.Abs(windowRules)
	if err != nil {
		return 0, err
	}
	var script *process.Process
	took, err = timed(func() error {
		script, err = process.Start(process.Spec{
			Path: sessionScript, Env: append(p.env(), "OPENBOX_CONFIG="+config),
		})
		if err != nil {
			return err
		}
		return awaitReady(script.Stdout)
	})
	if script != nil {
		if err != nil {
			err = fmt.Errorf("%w: %s", err, script.Stderr())
		}
		err = errors.Join(err, script.End(ctx))
	}
	return took, err
}

func awaitReady(stdout io.Reader) error {
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		if lines.Text() == "ready" {
			return nil
		}
	}
	return errors.New("the script ended before it was ready")
}

func printSession(w io.Writer, s []sample, all []session.Timings) {
	t := table{head: []string{"", "ms", "session / this"}}
	t.add("session, from start to ready", s[0].spread(), "")
	for i, step := range all[0] {
		var start, ready sample
		for _, timings := range all {
			start = append(start, milliseconds(timings[i].Start))
			ready = append(ready, milliseconds(timings[i].Ready))
		}
		t.add("- "+step.Name, fmt.Sprintf("at %s: %s", number(start.median()), ready.spread()), "")
	}
	t.add("script, the same", s[1].spread(), fmt.Sprintf("%.2f", ratio(s[0], s[1])))
	t.print(w)
	printRatios(w, verdict{"session/script", ratio(s[0], s[1])})
}
