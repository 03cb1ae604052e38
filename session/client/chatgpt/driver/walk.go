package driver

import (
	"context"
	"slices"
	"time"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/session/atspi"
)

// walk takes an app through screens in whatever order they come, until its goal is reached. Of what is
// on screen it deals with one thing at a time: the first of the table that is there. What it has acted
// on it doesn't act on again.
type walk struct {
	*run
	screens []screen
	goal    func(*atspi.Tree) finding
	first   time.Time // until when the first screen that is known may come; zero: it has come

	acted   map[string]atspi.Ref // by screen: what was acted on, as long as it's there
	pending map[string]bool      // screens that were acted on, and that isn't proved yet
	times   map[string]int       // by screen
	now     finding
}

// finding is what a look at the app came to.
type finding struct {
	name    string // of a screen or a state; another one is progress
	phase   Phase
	reached bool
	screen  *screen     // it's whole, and
	node    *atspi.Node // this is to be acted on
	code    code.Code   // what it means if nothing better comes
	detail  string
}

func (r *run) walk(ctx context.Context, screens []screen, goal func(*atspi.Tree) finding, first time.Time) error {
	w := newWalk(r, screens, goal, first)
	for !w.now.reached {
		if err := w.progress(ctx); err != nil {
			return err
		}
	}
	return nil
}

func newWalk(r *run, screens []screen, goal func(*atspi.Tree) finding, first time.Time) *walk {
	return &walk{
		run: r, screens: screens, goal: goal, first: first,
		acted: map[string]atspi.Ref{}, pending: map[string]bool{}, times: map[string]int{},
		now: finding{phase: r.phase, code: code.StateTransitionUnobserved, detail: "the app couldn't be looked at"},
	}
}

// progress waits until something was done or another screen has come.
func (w *walk) progress(ctx context.Context) error {
	over, err := w.await(ctx, w.limit(), "a screen that is known", func(t *atspi.Tree) (bool, error) {
		return w.see(ctx, t)
	})
	if over {
		return w.late(w.now.code, w.now.detail)
	}
	return err
}

func (w *walk) limit() time.Duration {
	if w.first.IsZero() {
		return w.limits.Screen
	}
	return time.Until(w.first)
}

func (w *walk) see(ctx context.Context, t *atspi.Tree) (progress bool, err error) {
	was := w.now.name
	w.now = w.look(t)
	w.phase = w.now.phase
	w.saw(w.now.name)
	if w.phase != WaitingForInitialUI {
		w.first = time.Time{}
	}
	if w.now.node != nil {
		asked, err := w.act(ctx)
		if asked || !changed(err) {
			return true, err
		}
		w.now.code, w.now.detail = code.Of(err), code.Detail(err)
	}
	if w.now.reached || w.now.name != was {
		return true, nil
	}
	if w.now.name != unknown {
		w.asks = nil
		return false, nil
	}
	return false, w.asked(t)
}

// act acts on what was found.
func (w *walk) act(ctx context.Context) (asked bool, err error) {
	s, n := w.now.screen, w.now.node
	if s.pointer {
		asked, err = w.click(ctx, s.name, n)
	} else {
		asked, err = w.press(ctx, s.name, n, s.act)
	}
	if asked && err == nil {
		w.did(s, n.Ref)
		w.now = s.done() // until the next look, which may not come in time
	}
	return asked, err
}

// done is the finding of a screen that was acted on, as long as nothing proves it.
func (s *screen) done() finding {
	return finding{name: s.name + ", done", phase: s.phase, code: s.unproved, detail: "what was done on the " + s.name + " screen doesn't show"}
}

func (w *walk) did(s *screen, to atspi.Ref) {
	delete(w.pending, s.after) // it was good for something
	w.acted[s.name], w.pending[s.name] = to, true
	w.times[s.name]++
}

// look finds the first of the screens that is there, else how far the goal is.
func (w *walk) look(t *atspi.Tree) finding {
	w.settle(t)
	for i := range w.screens {
		s := &w.screens[i]
		switch {
		case w.pending[s.name]:
			return s.done()
		case w.eligible(s) && s.isOn(t):
			return s.read(t)
		}
	}
	return w.goal(t)
}

// settle forgets what isn't there any more, and sees what proves what was done.
func (w *walk) settle(t *atspi.Tree) {
	for i := range w.screens {
		s := &w.screens[i]
		if ref, ok := w.acted[s.name]; ok && !present(t, s.act, ref) {
			delete(w.acted, s.name)
		}
		_, still := w.acted[s.name]
		switch {
		case s.shows.Label != "" && s.shows.one(t) != nil, s.shows.Label == "" && !still:
			delete(w.pending, s.name)
		case !still && s.isOn(t):
			delete(w.pending, s.name) // all over again
		}
	}
}

func present(t *atspi.Tree, c Control, ref atspi.Ref) bool {
	for _, n := range c.find(t, atspi.Actionable) {
		if n.Ref == ref {
			return true
		}
	}
	return false
}

// eligible tells whether a screen may be dealt with, were it there.
func (w *walk) eligible(s *screen) bool {
	_, acted := w.acted[s.name]
	return !acted && (s.after == "" || w.times[s.after] > w.times[s.name]) && w.times[s.before] == 0
}

func (s *screen) isOn(t *atspi.Tree) bool {
	return !slices.ContainsFunc(s.signs, func(c Control) bool { return c.onScreen(t) == 0 })
}

// read finds what is to be acted on, if the screen is understood.
func (s *screen) read(t *atspi.Tree) finding {
	f := finding{name: s.name, phase: s.phase, code: s.code}
	for i, c := range slices.Concat(s.once, s.never) {
		want := 1
		if i >= len(s.once) {
			want = 0
		}
		if n := c.onScreen(t); n != want {
			f.detail = s.told(c, n, want)
			return f
		}
	}
	f.screen, f.node = s, s.act.one(t)
	f.detail = s.told(s.act, len(s.act.find(t, atspi.Actionable)), 1)
	return f
}
