package app

import (
	"context"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/berth-run/berth/testdata/standin/engine"
	"github.com/berth-run/berth/testdata/standin/scenario"
)

// stage is what's on screen, and what comes next. A scenario that starts anew ends all that the one
// before had under way: run counts them, and what belongs to another run does nothing.
type stage struct {
	journal *journal
	state   string // a file of the profile that says that the first run is over
	engine  *engine.Engine
	storage func(context.Context, func(error)) error // opens the keyring, and tells what is in the way
	crash   func(scenario.Crash)
	home    string
	life    context.Context // the app's

	mu       sync.Mutex
	sc       scenario.Scenario
	run      int
	stop     context.CancelFunc // ends what the run has under way
	letGo    context.CancelFunc // lets it leave its splash
	screens  []scenario.Screen  // yet to come, Twice spelled out
	passed   []scenario.Screen
	now      view
	moving   bool // a screen is on its way: what is shown has no effect any more
	changed  chan struct{}
	drawing  map[int]*drawing // by Seq, what the page hasn't told that it shows
	handoffs int
	path     string // the workspace of the draft
	model    string // chosen in the announcement
	held     string // the draft below an announcement
	told     bool   // the announcement of Main.Announced has been
	emptier  string // the control that empties the composer

	later  func(context.Context) // starts what comes with the first hand-off
	beside chan struct{}         // closed when another window, or app, is there
}

// drawing is a view on its way to the screen.
type drawing struct {
	view view
	done chan struct{} // closed when it's there
}

func newStage() *stage {
	nothing := func() {}
	return &stage{
		life: context.Background(), changed: make(chan struct{}), drawing: map[int]*drawing{}, stop: nothing, letGo: nothing,
		later: func(context.Context) {}, beside: make(chan struct{}),
	}
}

// start begins a scenario at its splash, and returns a channel that closes when that is on screen. A
// splash that is held stays until release.
func (s *stage) start(sc scenario.Scenario, held bool) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop()
	ctx, cancel := context.WithCancel(s.life)
	s.stop = cancel
	s.run++
	s.sc, s.passed, s.screens = sc, nil, nil
	s.moving, s.handoffs, s.path, s.model = false, 0, s.home, ""
	s.held, s.told, s.emptier = "", false, ""
	for _, screen := range s.toCome(sc) {
		s.screens = append(s.screens, screen)
		if screen.Twice {
			s.screens = append(s.screens, screen)
		}
	}
	s.now.Surface = sc.Surface
	if sc.Surface == "" {
		s.now.Surface = scenario.Work
	}
	s.journal.log(entry{Event: "scenario", Run: s.run, Scenario: &sc})
	drawn := s.show(view{Screen: splash, crash: sc.Splash.Crash})
	hold, letGo := context.WithCancel(ctx)
	if s.letGo = letGo; !held {
		letGo()
	}
	go s.leaveSplash(ctx, s.run, drawn, hold.Done())
	return drawn
}

func (s *stage) leaveSplash(ctx context.Context, run int, until ...<-chan struct{}) {
	for _, u := range until {
		select {
		case <-u:
		case <-ctx.Done():
			return
		}
	}
	s.mu.Lock()
	sp := s.sc.Splash
	s.mu.Unlock()
	switch sp.Until {
	case scenario.Never:
		return
	case scenario.Locked:
		if err := lockStorage(ctx); err != nil {
			s.journal.log(entry{Event: "failed", Run: run, Text: err.Error()})
		}
		return
	case scenario.Shown:
	default:
		tell := func(err error) { s.journal.log(entry{Event: "keyring", Run: run, Text: err.Error()}) }
		if s.storage(ctx, tell) != nil {
			return
		}
	}
	s.after(run, sp.DelayMS, s.advance)
}

// after calls f, which holds the lock then, unless another run has begun.
func (s *stage) after(run, ms int, f func()) {
	time.AfterFunc(time.Duration(ms)*time.Millisecond, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.run == run {
			f()
		}
	})
}

// advance goes on to the next screen, when its time has come.
func (s *stage) advance() {
	s.moving = true
	if len(s.screens) == 0 {
		s.after(s.run, s.sc.Main.DelayMS, s.arrive)
		return
	}
	next := s.screens[0]
	s.after(s.run, next.DelayMS, func() {
		s.screens, s.passed = s.screens[1:], append(s.passed, next)
		s.show(view{
			Screen: screen(next.Kind), Title: next.Title, Stale: next.Stale, crash: next.Crash,
			Missing: next.Missing, Doubled: next.Doubled, Dead: next.Dead, fatal: next.Fatal,
		})
	})
}

// back shows the examples again, with their confirmation to come.
func (s *stage) back() {
	for i := len(s.passed) - 1; i >= 0; i-- {
		if s.passed[i].Kind == scenario.Examples {
			s.screens = slices.Concat(s.passed[i:], s.screens)
			s.passed = s.passed[:i]
			break
		}
	}
	s.advance()
}

// toCome are a scenario's screens, none if the profile remembers them.
func (s *stage) toCome(sc scenario.Scenario) []scenario.Screen {
	if _, err := os.Stat(s.state); sc.Remember && err == nil {
		return nil
	}
	return sc.Screens
}

// arrive shows the main screen, for the first time.
func (s *stage) arrive() {
	if s.sc.Remember {
		if err := os.WriteFile(s.state, nil, 0o600); err != nil {
			s.journal.log(entry{Event: "failed", Run: s.run, Text: err.Error()})
		}
	}
	s.showMain("", s.sc.Main.Crash)
	if ms := s.sc.Main.SetupRouteMS; ms > 0 {
		s.after(s.run, ms, func() {
			s.journal.log(entry{Event: "setupRoute", Run: s.run})
			if s.now.Screen == main {
				s.path = s.home
				s.showMain("", scenario.CrashNone)
			}
		})
	}
}

// showMain opens an empty thread, with a draft in its composer.
func (s *stage) showMain(draft string, crash scenario.Crash) {
	m := s.sc.Main
	s.show(view{
		Screen: main, Draft: draft, Code: m.Backticks == scenario.BackticksCode,
		Missing: m.Missing, Doubled: m.Doubled, Dead: m.Dead, SendMS: m.SendMS, crash: crash, fatal: m.Fatal,
	})
}

// show puts another screen on, and returns a channel that closes when the page has drawn it.
func (s *stage) show(v view) <-chan struct{} {
	v.Seq, v.Surface, v.Labels = s.now.Seq+1, s.now.Surface, s.sc.Labels
	s.moving, s.now = false, v
	d := &drawing{view: v, done: make(chan struct{})}
	s.drawing[v.Seq] = d
	s.wake()
	return d.done
}

// wake has the page show what there is now.
func (s *stage) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// look is what's on screen, and a channel that closes when that changes.
func (s *stage) look() (view, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now, s.changed
}

func (s *stage) surface() scenario.Surface {
	v, _ := s.look()
	return v.Surface
}
