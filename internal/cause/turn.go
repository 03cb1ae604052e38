package cause

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/berth-run/berth/internal/trace"
	"github.com/berth-run/berth/session/client/evidence"
	"github.com/berth-run/berth/session/client/rollout"
)

// Rules on Codex's record of the turn.

func recordUnreadable(e *Evidence) string {
	if e.badRecord != nil {
		return fmt.Sprintf("Codex's record of the turn can't be read: %v.", e.badRecord)
	}
	return ""
}

func modelFailed(e *Evidence) string {
	t := e.turn()
	if t == nil || t.Failure == nil || !t.Failure.Upstream() {
		return ""
	}
	if t.Failure.HTTPStatus != 0 {
		return fmt.Sprintf("The model couldn't be used: the gateway answered HTTP %d (%s).", t.Failure.HTTPStatus, t.Failure.Kind)
	}
	return fmt.Sprintf("The model couldn't be used: %s.", strings.TrimSuffix(t.Failure.Message, "."))
}

func turnFailed(e *Evidence) string {
	if t := e.turn(); t != nil && t.Failure != nil {
		return fmt.Sprintf("Codex ended the turn with an error: %s.", strings.TrimSuffix(t.Failure.Message, "."))
	}
	return ""
}

func turnAborted(e *Evidence) string {
	if t := e.turn(); t != nil && t.Status == rollout.Aborted {
		return fmt.Sprintf("The turn was aborted: %s.", t.AbortReason)
	}
	return ""
}

func otherModel(e *Evidence) string {
	t := e.turn()
	switch {
	case t == nil || e.asked == nil || t.Model == "":
	case t.Model != e.asked.Model:
		return fmt.Sprintf("The turn ran with model %q, and %q was asked for.", t.Model, e.asked.Model)
	case e.asked.Effort != "" && t.Effort != e.asked.Effort:
		return fmt.Sprintf("The turn ran with reasoning effort %q, and %q was asked for.", t.Effort, e.asked.Effort)
	}
	return ""
}

func turnStalled(e *Evidence) string {
	t := e.turn()
	if t == nil || t.Done() {
		return ""
	}
	still := ""
	if end := e.end(); !e.written.IsZero() && end.After(e.written) {
		still = fmt.Sprintf("; nothing was written for %v", end.Sub(e.written).Round(time.Second))
	}
	for _, event := range slices.Backward(t.Trace().Events) {
		if event.Output == nil && event.CompletedAt == "" {
			return fmt.Sprintf("The turn stands still: %s was called and hasn't returned%s.", event.Name, still)
		}
		break
	}
	return fmt.Sprintf("The turn stands still: Codex waits for the model's answer%s.", still)
}

// end is when the last step was over.
func (e *Evidence) end() time.Time {
	var end time.Time
	for _, s := range e.steps {
		if over := s.At.Add(time.Duration(s.Ms * float64(time.Millisecond))); over.After(end) {
			end = over
		}
	}
	return end
}

func noAnswer(e *Evidence) string {
	if t := e.turn(); t != nil && t.Done() && !t.Answered() {
		return "The turn completed without a final answer."
	}
	return ""
}

// called counts a turn's calls of MCP servers, those of the trial's and others by name.
func (e *Evidence) called(t *rollout.Turn) (own int, others []string) {
	for _, event := range t.Trace().Events {
		switch {
		case event.Source == trace.SourceBuiltin:
		case slices.Contains(e.asked.Servers, event.Server):
			own++
		case !slices.Contains(others, event.Server):
			others = append(others, event.Server)
		}
	}
	return own, others
}

func foreignServer(e *Evidence) string {
	t := e.turn()
	if t == nil || e.asked == nil {
		return ""
	}
	if _, others := e.called(t); len(others) > 0 {
		return fmt.Sprintf("The turn called an MCP server that isn't the variant's: %s.", strings.Join(others, ", "))
	}
	return ""
}

func noCall(e *Evidence) string {
	t := e.turn()
	if t == nil || e.asked == nil || !e.asked.RequireMCPCalls {
		return ""
	}
	if own, _ := e.called(t); own == 0 {
		return fmt.Sprintf("The turn was answered without a call of the variant's MCP servers (%s), and at least one is required.", strings.Join(e.asked.Servers, ", "))
	}
	return ""
}

// Rules on a prompt that was sent, and that has no record.

func sendWithoutEffect(e *Evidence) string {
	d := e.draft()
	if _, sent := e.sent(); !sent || e.record != nil || d == nil || !e.holdsPrompt() {
		return ""
	}
	return "Send was activated, and the composer still holds the prompt: the app did nothing."
}

// holdsPrompt tells whether the composer held the prompt at the end.
func (e *Evidence) holdsPrompt() bool {
	d := e.draft()
	return d != nil && d.TextReadable && e.asked != nil && d.TextSHA256 == e.asked.PromptSHA256
}

// others are the records that began after the prompt was handed over and aren't taken for its own.
func (e *Evidence) others() []evidence.Record {
	s, _ := e.last(evidence.Records)
	return s.Records
}

func (e *Evidence) other(is func(evidence.Record) bool) (evidence.Record, bool) {
	if _, sent := e.sent(); !sent || e.record != nil {
		return evidence.Record{}, false
	}
	i := slices.IndexFunc(e.others(), is)
	if i < 0 {
		return evidence.Record{}, false
	}
	return e.others()[i], true
}

func otherOriginator(e *Evidence) string {
	r, ok := e.other(func(r evidence.Record) bool { return r.Same && e.asked != nil && r.Originator != e.asked.Originator })
	if !ok {
		return ""
	}
	return fmt.Sprintf("The prompt's record is by %q, and the app records as %q on this surface.", r.Originator, e.asked.Originator)
}

func recordElsewhere(e *Evidence) string {
	if _, ok := e.other(func(r evidence.Record) bool { return r.Elsewhere }); ok {
		return "Codex wrote a record into another folder than the one that records belong in."
	}
	return ""
}

func promptChanged(e *Evidence) string {
	if _, ok := e.other(func(r evidence.Record) bool { return r.Prompts > 0 && !r.Same }); ok {
		return "A session began when the prompt was sent, and its prompt is another: the app changed the prompt, or something else was sent."
	}
	return ""
}

func noRecord(e *Evidence) string {
	s, sent := e.sent()
	if !sent || e.record != nil {
		return ""
	}
	if _, began := e.other(func(r evidence.Record) bool { return !r.Elsewhere }); began {
		return "The prompt was sent, and a session began that holds no prompt."
	}
	waited := ""
	if end := e.end(); end.After(s.At) {
		waited = fmt.Sprintf(" in %v", end.Sub(s.At).Round(time.Second))
	}
	text := fmt.Sprintf("The prompt was sent, and Codex began no session for it%s", waited)
	if heading := e.heading(); heading != "" {
		text += fmt.Sprintf("; the app shows %q", heading)
	}
	return text + "."
}
