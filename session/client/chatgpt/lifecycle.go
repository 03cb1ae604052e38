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

// Phases of a batch's life.
const (
	phaseSetup    = "setup"
	phaseRecovery = "recovery"
)

// event is something in a batch's life.
type event struct {
	Phase     string    `json:"phase"`
	Operation string    `json:"operation"`
	Completed time.Time `json:"completedAt"`
	Ms        float64   `json:"durationMs"`
	Error     code.Code `json:"error,omitempty"`
}

// began is when it did.
func (e event) began() time.Time {
	return e.Completed.Add(-time.Duration(e.Ms * float64(time.Millisecond)))
}

// lifecycle is a batch's batchLifecycle (contract §8).
type lifecycle struct {
	events     []event
	phase      string             // of what comes next
	steps      map[string]float64 // since they were last taken
	setup      time.Duration
	status     string // of the set-up
	cleanup    time.Duration
	cleaned    string // status of the clean-up
	recoveries int
	recovery   time.Duration
	screenshot string // of a Prepare that failed: captured, unavailable
}

func newLifecycle() lifecycle {
	return lifecycle{events: []event{}, phase: phaseSetup, steps: map[string]float64{}, status: client.NotStarted, cleaned: client.NotStarted}
}

// step runs one step and notes its time.
func (l *lifecycle) step(name string, do func() error) error {
	at := time.Now()
	err := do()
	ms := milliseconds(time.Since(at))
	l.steps[name] += ms
	l.events = append(l.events, event{
		Phase: l.phase, Operation: name, Completed: time.Now().UTC(), Ms: ms, Error: code.Of(err),
	})
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
