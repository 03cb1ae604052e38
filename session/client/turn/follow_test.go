package turn

import (
	"context"
	"testing"
	"time"

	"github.com/berth-run/berth/internal/clock/clocktest"
	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/session/client/rollout"
)

// TestClockSet: what is waited for is waited for as long, whatever the clock is set to meanwhile.
func TestClockSet(t *testing.T) {
	const day = 24 * time.Hour
	limits := Limits{}.OrDefault()
	handed := time.Now()
	for _, by := range []time.Duration{0, day, -day} {
		at := func(passed time.Duration) time.Time { return clocktest.Set(handed.Add(passed), by) }
		unbound := &Watch{Limits: limits, Handed: handed}
		bound := &Watch{Limits: limits, Handed: handed, grown: handed, bound: &rollout.Bound{Rollout: rollout.Open(t.TempDir()+"/r", nil)}}
		for _, tt := range []struct {
			watch  *Watch
			passed time.Duration
			want   code.Code
		}{
			{unbound, limits.Bind - time.Second, ""},
			{unbound, limits.Bind, code.NoMatchingSession},
			{bound, limits.Stall - time.Second, ""},
			{bound, limits.Stall, code.Timeout},
		} {
			if got := code.Of(tt.watch.overdue(context.Background(), at(tt.passed))); got != tt.want {
				t.Errorf("set by %v, after %v: %q, want %q", by, tt.passed, got, tt.want)
			}
		}
	}
}

// TestGivenUp: a record is as long as it will be soon after the app has said that the turn is over, or when it
// hasn't grown for long.
func TestGivenUp(t *testing.T) {
	now := time.Now()
	limits := Limits{}.OrDefault()
	for name, tt := range map[string]struct {
		grown, over time.Time
		want        bool
	}{
		"growing":      {now, time.Time{}, false},
		"just over":    {now, now, false},
		"over":         {now.Add(-settle), now.Add(-settle), true},
		"not for long": {now.Add(-limits.Stall), time.Time{}, true},
	} {
		w := &Watch{Limits: limits, grown: tt.grown, over: tt.over}
		if got := w.givenUp(now); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
