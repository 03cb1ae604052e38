package session

import (
	"fmt"
	"strings"
	"time"
)

// Step is one service's way to ready, both times from the session's start.
type Step struct {
	Name  string        `json:"name"`
	Start time.Duration `json:"startNs"` // all that it needs is ready
	Ready time.Duration `json:"readyNs"`
}

// Timings are the steps of a session in the order of its table.
type Timings []Step

// Total is from the session's start until the last step was ready.
func (t Timings) Total() time.Duration {
	var total time.Duration
	for _, s := range t {
		total = max(total, s.Ready)
	}
	return total
}

// String is one line, such as "ready in 153ms: display 0-20ms, bus 0-12ms".
func (t Timings) String() string {
	steps := make([]string, len(t))
	for i, s := range t {
		steps[i] = fmt.Sprintf("%s %d-%dms", s.Name, s.Start.Milliseconds(), s.Ready.Milliseconds())
	}
	return fmt.Sprintf("ready in %dms: %s", t.Total().Milliseconds(), strings.Join(steps, ", "))
}
