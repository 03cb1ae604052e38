package codex

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/trace"
	"github.com/berth-run/berth/session/client/rollout"
)

// upstreamError marks a failure of the model's side.
type upstreamError struct{ failure *rollout.Failure }

func (u *upstreamError) Error() string {
	if u.failure.HTTPStatus != 0 {
		return fmt.Sprintf("inference failed (%s, HTTP %d): %s", u.failure.Kind, u.failure.HTTPStatus, u.failure.Message)
	}
	return fmt.Sprintf("inference failed (%s): %s", u.failure.Kind, u.failure.Message)
}

// judge tells what a finished turn is worth: nil for an answer by the right model, with the right
// tools.
func (s *session) judge(t *rollout.Turn) error {
	switch {
	case t.Status == rollout.Aborted:
		return code.Errorf(code.ClientRunFailed, "the turn was aborted: %s", t.AbortReason)
	case t.Failure != nil && t.Failure.Upstream():
		return code.Errorf(code.ClientRunFailed, "%w", &upstreamError{t.Failure})
	case t.Failure != nil:
		return code.Errorf(code.ClientRunFailed, "the turn failed (%s): %s", t.Failure.Kind, t.Failure.Message)
	case t.Model != s.batch.Model:
		return code.Errorf(code.ClientRunFailed, "the turn ran with model %q instead of %q", t.Model, s.batch.Model)
	case s.options.ReasoningEffort != "" && t.Effort != s.options.ReasoningEffort:
		return code.Errorf(code.ClientRunFailed, "the turn ran with reasoning effort %q instead of %q", t.Effort, s.options.ReasoningEffort)
	case !t.Answered():
		return code.Errorf(code.ClientRunFailed, "the turn ended without a final answer")
	}
	return s.judgeCalls(s.count(t.Trace().Events))
}

// callCounts is the trial's mcpSelection.
type callCounts struct {
	configured, external, builtin int
	unexpected                    []string
}

func (s *session) count(events []trace.Event) callCounts {
	c := callCounts{unexpected: []string{}}
	labels := s.labels()
	for _, e := range events {
		switch {
		case e.Source == trace.SourceBuiltin:
			c.builtin++
		case slices.Contains(labels, e.Server):
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

func (s *session) judgeCalls(c callCounts) error {
	if c.external > 0 {
		return code.Errorf(code.ClientRunFailed, "called an MCP server that isn't in the variant: %s", strings.Join(c.unexpected, ", "))
	}
	if s.options.RequireMCPCalls && c.configured == 0 {
		return code.Errorf(code.ClientRunFailed, "requireMcpCalls: none of the variant's MCP servers was called")
	}
	return nil
}

// classify gives an error its code, and tells whether it says nothing about the app.
func (r *run) classify(err error) (code.Code, bool) {
	var upstream *upstreamError
	c := code.Of(err)
	switch {
	case errors.Is(err, errDeadline):
		return code.Timeout, !r.submitted
	case c == code.Cancelled:
		return code.Cancelled, true
	case errors.As(err, &upstream):
		return c, true
	case c == "":
		return code.ClientRunFailed, !r.submitted
	}
	return c, !r.submitted
}
