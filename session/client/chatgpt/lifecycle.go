package chatgpt

import (
	"maps"
	"time"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/session/client"
)

// Names of steps, for Result.Steps. Those up to StepPrepare are a batch's set-up, told with its first
// trial, or with the one that the app was started anew for.
const (
	StepDesktop   = "desktop"
	StepConfig    = "config"
	StepLogin     = "login"
	StepPreflight = "preflight"
	StepPlugins   = "plugins"
	StepProbe     = "probe"
	StepAppStart  = "app_start"
	StepPrepare   = "prepare"
	StepSubmit    = "submit"
	StepTurn      = "turn"       // from Send to the end of its record
	StepCodexTurn = "codex_turn" // by Codex's own clock
	StepEvidence  = "evidence"
	StepStop      = "stop"
)

// event is something in a batch's life.
type event struct {
	At    time.Time `json:"at"`
	Event string    `json:"event"`
	Ms    float64   `json:"durationMs"`
	Error code.Code `json:"error,omitempty"`
}

// lifecycle is a batch's batchLifecycle (contract §8).
type lifecycle struct {
	events     []event
	steps      map[string]float64 // since they were last taken
	setup      time.Duration
	status     string // of the set-up
	cleanup    time.Duration
	cleaned    string // status of the clean-up
	recoveries int
	recovery   time.Duration
	screenshot string // of a Prepare that failed
}

func newLifecycle() lifecycle {
	return lifecycle{events: []event{}, steps: map[string]float64{}, status: client.NotStarted, cleaned: client.NotStarted}
}

// step runs one step and notes its time.
func (l *lifecycle) step(name string, do func() error) error {
	at := time.Now()
	err := do()
	ms := milliseconds(time.Since(at))
	l.steps[name] += ms
	l.events = append(l.events, event{At: at.UTC(), Event: name, Ms: ms, Error: code.Of(err)})
	return err
}

// taken gives the steps since the last time.
func (l *lifecycle) taken() map[string]float64 {
	steps := maps.Clone(l.steps)
	clear(l.steps)
	return steps
}

func (l *lifecycle) setUp(took time.Duration, err error) {
	l.setup, l.status = took, client.StatusOf(err)
}

func (l *lifecycle) cleanedUp(took time.Duration, err error) {
	l.cleanup, l.cleaned = took, client.StatusOf(err)
}

// recovered notes that the app was started anew.
func (l *lifecycle) recovered(took time.Duration) {
	l.recoveries++
	l.recovery += took
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
