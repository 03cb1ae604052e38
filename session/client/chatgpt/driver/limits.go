package driver

import (
	"time"

	"github.com/berth-run/berth/internal/code"
)

// Limits bound one Prepare or Submit. What is zero has the contract's value (§4.2 to §4.4).
type Limits struct {
	Overall time.Duration // all of it: 60 s
	FirstUI time.Duration // until the app shows a screen that is known: 30 s
	Screen  time.Duration // until a screen is whole, or what was done shows: 10 s
	Open    time.Duration // the hand-off: 30 s
	Draft   time.Duration // until a draft that was handed over is there: 30 s
	Settle  time.Duration // looking on after the set-up draft, as links are routed late: 5 s
	Observe time.Duration // looking for a mode switch where a turn was before: 2 s
	Actions int           // what may be done to the app, hand-offs included: 24, from 1 to 64
}

var defaults = Limits{
	Overall: time.Minute,
	FirstUI: 30 * time.Second,
	Screen:  10 * time.Second,
	Open:    30 * time.Second,
	Draft:   30 * time.Second,
	Settle:  5 * time.Second,
	Observe: 2 * time.Second,
	Actions: 24,
}

const (
	maxActions = 64
	maxPrompt  = 2 << 20 // bytes
)

func (l Limits) withDefaults() (Limits, error) {
	for _, d := range []struct{ is, or *time.Duration }{
		{&l.Overall, &defaults.Overall}, {&l.FirstUI, &defaults.FirstUI}, {&l.Screen, &defaults.Screen},
		{&l.Open, &defaults.Open}, {&l.Draft, &defaults.Draft}, {&l.Settle, &defaults.Settle},
		{&l.Observe, &defaults.Observe},
	} {
		if *d.is < 0 {
			return l, code.Errorf(code.InvalidBudget, "a limit of %v", *d.is)
		}
		if *d.is == 0 {
			*d.is = *d.or
		}
	}
	if l.Actions == 0 {
		l.Actions = defaults.Actions
	}
	if l.Actions < 1 || l.Actions > maxActions {
		return l, code.Errorf(code.InvalidBudget, "%d actions (from 1 to %d)", l.Actions, maxActions)
	}
	return l, nil
}
