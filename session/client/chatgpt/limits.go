package chatgpt

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/session/client/chatgpt/driver"
	"github.com/berth-run/berth/session/client/turn"
)

// DefaultLimitsFile is where a test's image has a LimitsFile.
const DefaultLimitsFile = "/etc/berth/chatgpt-limits.json"

// LimitsMs are limits in milliseconds, as a LimitsFile has them; 0 keeps the contract's.
type LimitsMs struct {
	Overall, FirstUI, Screen, Open, Draft, Settle, Observe int64 // the driver's
	Bind, Stall                                            int64 // a turn's
	Handoff, Asks                                          int64 // the client's
}

func (m LimitsMs) limits() Limits {
	ms := func(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
	return Limits{
		Turn: turn.Limits{Bind: ms(m.Bind), Stall: ms(m.Stall)},
		Driver: driver.Limits{
			Overall: ms(m.Overall), FirstUI: ms(m.FirstUI), Screen: ms(m.Screen), Open: ms(m.Open),
			Draft: ms(m.Draft), Settle: ms(m.Settle), Observe: ms(m.Observe),
		},
		Handoff: ms(m.Handoff), Asks: ms(m.Asks),
	}.orDefault()
}

// readLimits gives a variant's of a LimitsFile, which may have some by "" for those that aren't named; nil
// for none.
func readLimits(path, variant string) (*Limits, error) {
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, code.Errorf(code.InvalidBudget, "%w", err)
	}
	var all map[string]LimitsMs
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, code.Errorf(code.InvalidBudget, "%s: %w", path, err)
	}
	m, ok := all[variant]
	if !ok {
		if m, ok = all[""]; !ok {
			return nil, nil
		}
	}
	l := m.limits()
	return &l, nil
}

// limits are the batch's own, else the client's.
func (s *batch) limits() Limits {
	if s.own != nil {
		return *s.own
	}
	return s.client.opts.Limits
}
