package turn

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/trace"
	"github.com/berth-run/berth/session/client/rollout"
)

// Rules are what a variant asks of a turn.
type Rules struct {
	Model string
	// Effort is the reasoning effort, "" for any.
	Effort string
	// Labels are the variant's MCP servers.
	Labels []string
	// RequireMCPCalls: at least one call to one of them.
	RequireMCPCalls bool
}

// upstreamError marks a failure of the model's side.
type upstreamError struct{ failure *rollout.Failure }

func (u *upstreamError) Error() string {
	if u.failure.HTTPStatus != 0 {
		return fmt.Sprintf("inference failed (%s, HTTP %d): %s", u.failure.Kind, u.failure.HTTPStatus, u.failure.Message)
	}
	return fmt.Sprintf("inference failed (%s): %s", u.failure.Kind, u.failure.Message)
}

// ErrMeasure marks a turn that went well for the app, and not for what is measured: another server, or
// none, was called. Nothing has to be started anew after it.
var ErrMeasure = errors.New("the turn's tools")

// measureError keeps its own text.
type measureError string

func (m measureError) Error() string        { return string(m) }
func (m measureError) Is(target error) bool { return target == ErrMeasure }

// Judge tells what a finished turn is worth: nil for an answer by the right model, with the right
// tools.
func (r Rules) Judge(t *rollout.Turn) error {
	switch {
	case t.Status == rollout.Aborted:
		return code.Errorf(code.ClientRunFailed, "the turn was aborted: %s", t.AbortReason)
	case t.Failure != nil && t.Failure.Upstream():
		return code.Errorf(code.ClientRunFailed, "%w", &upstreamError{t.Failure})
	case t.Failure != nil:
		return code.Errorf(code.ClientRunFailed, "the turn failed (%s): %s", t.Failure.Kind, t.Failure.Message)
	case t.Model != r.Model:
		return code.Errorf(code.ClientRunFailed, "the turn ran with model %q instead of %q", t.Model, r.Model)
	case r.Effort != "" && t.Effort != r.Effort:
		return code.Errorf(code.ClientRunFailed, "the turn ran with reasoning effort %q instead of %q", t.Effort, r.Effort)
	case !t.Answered():
		return code.Errorf(code.ClientRunFailed, "the turn ended without a final answer")
	}
	return r.judgeCalls(r.count(t.Trace().Events))
}

// counts is the trial's mcpSelection.
type counts struct {
	configured, external, builtin int
	unexpected                    []string
}

func (r Rules) count(events []trace.Event) counts {
	c := counts{unexpected: []string{}}
	for _, e := range events {
		switch {
		case e.Source == trace.SourceBuiltin:
			c.builtin++
		case slices.Contains(r.Labels, e.Server):
			c.configured++
		default:
			c.external++
			if !slices.Contains(c.unexpected, e.Server) {
				c.unexpected = append(c.unexpected, e.Server)
			}
		}
	}
	return c
}

func (r Rules) judgeCalls(c counts) error {
	var failed measureError
	switch {
	case c.external > 0:
		failed = measureError("called an MCP server that isn't in the variant: " + strings.Join(c.unexpected, ", "))
	case r.RequireMCPCalls && c.configured == 0:
		failed = "requireMcpCalls: none of the variant's MCP servers was called"
	default:
		return nil
	}
	return code.Errorf(code.ClientRunFailed, "%w", failed)
}

// ErrDeadline: the trial's own time was over.
var ErrDeadline = errors.New("the trial's time was over")

// Classify gives a trial's error its code, and tells whether it says nothing about the app.
func Classify(err error, submitted bool) (code.Code, bool) {
	var upstream *upstreamError
	c := code.Of(err)
	switch {
	case errors.Is(err, ErrDeadline):
		return code.Timeout, !submitted
	case c == code.Cancelled:
		return code.Cancelled, true
	case errors.As(err, &upstream):
		return c, true
	case c == "":
		return code.ClientRunFailed, !submitted
	}
	return c, !submitted || noAppsDoing(c)
}

// noAppsDoing tells the codes of a shard or a desktop that was lost, and of a person that would have been needed.
func noAppsDoing(c code.Code) bool {
	switch c {
	case code.ShardFull, code.SessionFailed, code.KeyringAbsent, code.KeyringLocked, code.SignInRequired, code.PermissionRequired:
		return true
	}
	return false
}
