package rollout

import (
	"testing"
	"time"

	"github.com/berth-run/berth/internal/clock/clocktest"
)

// TestClockSet: the clock is set between the moment when a prompt is handed over and its turn's, or after both.
func TestClockSet(t *testing.T) {
	const day = 24 * time.Hour
	session := recorded(t, "answer")
	started := parse(t, session).turns[0].StartedAt
	// at gives the time now, with the wall clock a second before the turn's start and by more.
	at := func(by time.Duration) time.Time {
		now := time.Now()
		return clocktest.Set(now, started.Sub(now).Truncate(time.Second)-time.Second+by)
	}
	for name, tt := range map[string]struct {
		handed, set time.Duration
		found       bool
	}{
		"not set":          {0, 0, true},
		"back before it":   {day, -day, true},
		"ahead after it":   {0, day, true},
		"back after it":    {0, -day, true},
		"an earlier turn":  {day, 0, false},
		"earlier by hours": {2 * day, -day, false},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			s, err := TakeSnapshot(home)
			if err != nil {
				t.Fatal(err)
			}
			put(t, home, "a", session)
			c := exactly("Say hi.")
			c.Since = at(tt.handed)
			b := NewBinder(s, c)
			b.now = func() time.Time { return clocktest.Set(c.Since.Add(time.Second), tt.set) }
			if bound, err := b.Poll(); err != nil || (bound != nil) != tt.found {
				t.Errorf("found %v, %v", bound, err)
			}
		})
	}
}
