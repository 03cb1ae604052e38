// Package clock is for what is told or compared by the wall clock, which may be set at any moment. How long
// something took needs no help: Go measures that by a clock that nobody sets, as long as both times are as
// time.Now gave them.
package clock

import "time"

// Steady gives a clock that begins as now does and goes on with the time that passes, whatever now is set to.
func Steady(now func() time.Time) func() time.Time {
	began := now()
	return func() time.Time { return began.Add(now().Sub(began)) }
}

// Seen gives a moment as the wall clock of now has it: another time than it had then, if the clock was set since.
func Seen(moment, now time.Time) time.Time { return now.Round(0).Add(-now.Sub(moment)) }
