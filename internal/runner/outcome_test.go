package runner

import (
	"maps"
	"testing"
	"time"
)

// TestWorkerSteps: what a worker says that can't be a time isn't one.
func TestWorkerSteps(t *testing.T) {
	s := Steps{"create": time.Second}
	s.add(map[string]float64{"desktop": 189.5, "negative": -1, "endless": 1e18})
	if want := (Steps{"create": time.Second, "desktop": 189500 * time.Microsecond}); !maps.Equal(s, want) {
		t.Errorf("steps %v, want %v", s, want)
	}
}
