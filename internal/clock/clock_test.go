package clock_test

import (
	"testing"
	"time"

	"github.com/berth-run/berth/internal/clock"
	"github.com/berth-run/berth/internal/clock/clocktest"
)

const day = 24 * time.Hour

func TestSteady(t *testing.T) {
	for _, by := range []time.Duration{day, -day} {
		now := time.Now()
		steady := clock.Steady(func() time.Time { return now })
		was := steady()
		now = clocktest.Set(now.Add(time.Minute), by)
		if d := steady().Round(0).Sub(was.Round(0)); d != time.Minute {
			t.Errorf("set by %v: %v have passed, want a minute", by, d)
		}
	}
}

func TestSeen(t *testing.T) {
	moment := time.Now()
	for _, by := range []time.Duration{0, day, -day} {
		now := clocktest.Set(moment.Add(time.Minute), by)
		if got := clock.Seen(moment, now); !got.Equal(moment.Round(0).Add(by)) {
			t.Errorf("set by %v: %v, want %v", by, got, moment.Add(by))
		}
	}
}
