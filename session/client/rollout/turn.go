package rollout

import (
	"strings"
	"time"

	"github.com/berth-run/berth/internal/trace"
)

// Status is how far a turn is.
type Status int

// A turn's statuses; the last two are final.
const (
	Running Status = iota
	Completed
	Aborted
)

// Turn is one prompt and what came of it.
type Turn struct {
	ID        string
	StartedAt time.Time
	// Prompt is the first user message, as Codex recorded it; HasPrompt tells an empty one from none.
	Prompt    string
	HasPrompt bool
	// Model and Effort are what the turn ran with.
	Model, Effort string
	Status        Status
	// AbortReason is set for an aborted turn.
	AbortReason string
	// Failure is the error that Codex ended the turn with, nil for none.
	Failure *Failure
	// Duration and FirstToken are Codex's own measure; FirstToken is 0 when there was none.
	Duration, FirstToken time.Duration
	// InferredCalls tells that some MCP calls are known from a script's text alone.
	InferredCalls bool

	calls   *calls
	usage   *tokens
	counted bool // usage is from a token_usage_record
	last    string
	final   string
	phased  bool // some agent message says which phase it is of
}

func newTurn(id string, l labels) *Turn { return &Turn{ID: id, calls: newCalls(l)} }

// Done tells whether nothing more comes of the turn.
func (t *Turn) Done() bool { return t.Status != Running }

// FinalText is the answer, "" for none. Where messages say their phase, only a final answer counts.
func (t *Turn) FinalText() string {
	if t.phased {
		return t.final
	}
	return t.last
}

// Answered tells whether the turn completed with an answer.
func (t *Turn) Answered() bool {
	return t.Status == Completed && t.Failure == nil && strings.TrimSpace(t.FinalText()) != ""
}

// Trace is the turn so far, as a trial's trace.
func (t *Turn) Trace() *trace.Trace {
	tr := &trace.Trace{FinalText: t.FinalText(), Events: t.calls.events(), Evidence: trace.EvidenceStructured}
	if t.usage != nil {
		tr.Usage = t.usage.trace(t.Duration)
	}
	return tr
}

// takeMessage notes an agent's message. A completed turn repeats its last one.
func (t *Turn) takeMessage(i completedItem) {
	text := i.text()
	t.last = text
	if i.Phase != "" {
		t.phased = true
	}
	if i.Phase == "final_answer" {
		t.final = text
	}
}

func (c *tokens) trace(d time.Duration) *trace.Usage {
	return &trace.Usage{
		InputTokens:              max(0, c.Input-c.Cached),
		OutputTokens:             c.Output,
		DurationMs:               d.Milliseconds(),
		CacheReadInputTokens:     c.Cached,
		CacheCreationInputTokens: c.CacheWrite,
		ReasoningOutputTokens:    c.Reasoning,
	}
}
