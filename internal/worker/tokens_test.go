package worker

import (
	"slices"
	"testing"
	"time"

	"github.com/berth-run/berth/internal/clock/clocktest"
	"github.com/berth-run/berth/internal/redact"
	"github.com/berth-run/berth/internal/shardproto"
)

// TestTokensClockSet: a token that was good for an hour is asked for again after that hour, wherever the wall
// clock is by then, and before it when the clock says that it's over.
func TestTokensClockSet(t *testing.T) {
	const day = 24 * time.Hour
	start := time.Now()
	for name, tt := range map[string]struct {
		passed, set time.Duration
		due         bool
	}{
		"early":           {time.Minute, 0, false},
		"late":            {59 * time.Minute, 0, true},
		"early, set back": {time.Minute, -day, false},
		"late, set back":  {59 * time.Minute, -day, true},
		"set ahead":       {time.Minute, day, true},
	} {
		t.Run(name, func(t *testing.T) {
			now := start
			tokens := newTokens(t.TempDir(), &redact.Set{}, nil)
			tokens.now = func() time.Time { return now }
			tokens.take(map[string]shardproto.Token{
				"wiki":    {AccessToken: "a-secret-value", ExpiresAt: start.Add(time.Hour).UTC().Format(time.RFC3339)},
				"endless": {AccessToken: "another-secret-value"},
			})
			now = clocktest.Set(start.Add(tt.passed), tt.set)
			asked := map[string]string{}
			due, next := tokens.due(2*time.Minute, asked)
			if slices.Equal(due, []string{"wiki"}) != tt.due || len(due) > 1 || (next > 0) == tt.due {
				t.Errorf("due %v, the next in %v", due, next)
			}
			if again, _ := tokens.due(2*time.Minute, asked); tt.due && len(again) > 0 {
				t.Errorf("asked twice for %v", again)
			}
		})
	}
}
