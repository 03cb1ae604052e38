package turn

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/redact"
	"github.com/berth-run/berth/internal/trace"
	"github.com/berth-run/berth/session/client"
	"github.com/berth-run/berth/session/client/rollout"
)

// Trace is the turn's trace, without the secrets that the agent may have come upon. failure is the
// trial's error, "" for none.
func Trace(b *rollout.Bound, failure string, secrets *redact.Set) *trace.Trace {
	t := b.Turn.Trace()
	t.Error = failure
	text, err := json.Marshal(t)
	if err != nil {
		return t // it came from JSON
	}
	clean := secrets.Bytes(text)
	redacted := &trace.Trace{}
	if json.Unmarshal(clean, redacted) != nil {
		return &trace.Trace{Events: []trace.Event{}, Error: "the trace can't be shown without a secret", Evidence: trace.EvidenceNone}
	}
	return redacted
}

// Result is what every client says of a trial: err is why it failed, nil for an answer; b is the turn's
// record, nil when there's none. Its times, metadata and telemetry are the client's own.
func Result(err error, submitted bool, b *rollout.Bound, secrets *redact.Set) client.Result {
	res := client.Result{Submitted: submitted}
	if err != nil {
		res.FailureCode, res.Infrastructure = Classify(err, submitted)
		res.Error = code.Line(secrets.String(code.Detail(err)))
	}
	if b != nil {
		res.SessionID, res.TurnID = b.Rollout.Meta().SessionID, b.Turn.ID
		res.Trace = Trace(b, res.Error, secrets)
	}
	return res
}

// Correlation says how the record belongs to the prompt (contract §8); b may be nil.
func Correlation(prompt string, b *rollout.Bound) map[string]any {
	c := map[string]any{"promptSha256": SHA256(prompt), "promptUnchanged": false}
	if b != nil {
		c["promptUnchanged"] = true
		c["nativePromptMatch"] = b.Match
		c["nativePromptSha256"] = SHA256(b.Turn.Prompt)
	}
	return c
}

// Confidence says how far a trace can be relied on, and why not further (contract §8); b may be nil.
func Confidence(b *rollout.Bound) (confidence string, limitations []string) {
	switch {
	case b == nil:
		return "none", []string{}
	case !b.Turn.Done():
		return "partial", []string{"turn_not_finished"}
	case b.Turn.InferredCalls:
		return "medium", []string{"mcp_calls_inferred_from_code"}
	}
	return "high", []string{}
}

// Engine is what Codex says of itself in a record.
func Engine(b *rollout.Bound) map[string]any {
	t, meta := b.Turn, b.Rollout.Meta()
	return map[string]any{
		"version": meta.CLIVersion, "originator": meta.Originator, "model": t.Model, "reasoningEffort": t.Effort,
		"durationMs": t.Duration.Milliseconds(), "timeToFirstTokenMs": t.FirstToken.Milliseconds(),
	}
}

// Execution is a trial's caseExecution (contract §8).
func Execution(failed, submitted bool) map[string]any {
	status := "completed"
	switch {
	case failed && !submitted:
		status = "not_submitted"
	case failed:
		status = "failed"
	}
	return map[string]any{"status": status, "continuation": false}
}

// Selection is a trial's mcpSelection (contract §8).
func (r Rules) Selection(t *rollout.Turn) map[string]any {
	c := r.count(t.Trace().Events)
	status := "ok"
	switch {
	case c.external > 0:
		status = "unexpected"
	case c.configured == 0 && r.RequireMCPCalls:
		status = "missing"
	case c.configured == 0:
		status = "none"
	}
	return map[string]any{
		"status": status, "required": r.RequireMCPCalls, "selectedServers": r.Labels,
		"configuredMcpCallCount": c.configured, "externalMcpCallCount": c.external,
		"builtinToolCallCount": c.builtin, "unexpectedServers": c.unexpected,
	}
}

// SHA256 is a text's, in hex.
func SHA256(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}
