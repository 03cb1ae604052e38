package codex

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/trace"
	"github.com/berth-run/berth/session/client"
)

// finish ends Codex, reads and keeps what it recorded, and takes the home away. It gives the trial's
// error: a failure to clean up doesn't change an outcome, but no other trial is run after it.
func (r *run) finish(err error) error {
	if r.app != nil {
		stop := r.timed(StepStop, func() error { return r.app.proc.End(context.Background()) })
		r.s.breakOn(stop)
	}
	r.s.noteToken()
	err = r.record(err)
	r.s.breakOn(r.timed(StepTeardown, r.home.remove))
	return err
}

// breakOn keeps the session's first clean-up failure.
func (s *session) breakOn(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil && s.broken == nil {
		s.broken = err
	}
}

// record judges the turn by its record and keeps a copy of that. With no copy a trial can't pass.
func (r *run) record(err error) error {
	_ = r.timed(StepRollout, func() error {
		if r.bound != nil {
			if err == nil {
				err = r.s.judge(r.bound.Turn)
			}
			r.steps[StepCodexTurn] = milliseconds(r.bound.Turn.Duration)
		}
		keep := r.keep(err != nil)
		if keep != nil && err == nil {
			err = code.Errorf(code.ClientRunFailed, "keeping the evidence: %w", keep)
		}
		return nil
	})
	return err
}

func (r *run) result(err error) client.Result {
	res := client.Result{
		DurationMs: time.Since(r.start).Milliseconds(),
		Submitted:  r.submitted,
		Steps:      r.steps,
	}
	if err != nil {
		res.FailureKind, res.Infrastructure = r.classify(err)
		res.Error = code.Line(r.s.redact.String(detail(err)))
	}
	if r.bound != nil {
		res.SessionID, res.TurnID = r.bound.Rollout.Meta().SessionID, r.bound.Turn.ID
		res.Trace = r.trace(res.Error)
	}
	res.Metadata = r.metadata(res)
	res.Telemetry = r.telemetry(res)
	return res
}

// trace is the turn's, without the secrets that the agent may have come upon.
func (r *run) trace(failure string) *trace.Trace {
	t := r.bound.Turn.Trace()
	t.Error = failure
	text, err := json.Marshal(t)
	if err != nil {
		return t // it came from JSON
	}
	clean := r.s.redact.Bytes(text)
	redacted := &trace.Trace{}
	if json.Unmarshal(clean, redacted) != nil {
		return &trace.Trace{Events: []trace.Event{}, Error: "the trace can't be shown without a secret", Evidence: trace.EvidenceNone}
	}
	return redacted
}

// metadata is the trial's clientMetadata (contract §8).
func (r *run) metadata(res client.Result) map[string]any {
	m := map[string]any{
		"driver":          "codex-app-server",
		"failureKind":     nil,
		"correlation":     r.correlation(),
		"traceConfidence": "none",
		"executionPolicy": r.s.readiness.ExecutionPolicy,
	}
	if res.FailureKind != "" {
		m["failureKind"] = res.FailureKind
	}
	if r.bound != nil {
		t, meta := r.bound.Turn, r.bound.Rollout.Meta()
		m["session"] = map[string]any{"id": res.SessionID, "turnId": res.TurnID}
		m["codex"] = map[string]any{
			"version": meta.CLIVersion, "originator": meta.Originator, "model": t.Model, "reasoningEffort": t.Effort,
			"durationMs": t.Duration.Milliseconds(), "timeToFirstTokenMs": t.FirstToken.Milliseconds(),
		}
		m["traceConfidence"], m["traceLimitations"] = r.confidence()
	}
	if r.evidence != nil {
		m["evidence"] = r.evidence.Rollout
		m["artifacts"] = r.evidence.artifacts()
	}
	if r.app != nil {
		if refused := r.app.rpc.refusedRequests(); len(refused) > 0 {
			m["refusedRequests"] = refused
		}
	}
	return m
}

func (r *run) correlation() map[string]any {
	c := map[string]any{"promptSha256": sha256Hex(r.trial.Prompt), "promptUnchanged": false}
	if r.bound != nil {
		c["promptUnchanged"] = true
		c["nativePromptMatch"] = r.bound.Match
		c["nativePromptSha256"] = sha256Hex(r.bound.Turn.Prompt)
	}
	return c
}

func (r *run) confidence() (string, []string) {
	switch {
	case !r.bound.Turn.Done():
		return "partial", []string{"turn_not_finished"}
	case r.bound.Turn.InferredCalls:
		return "medium", []string{"mcp_calls_inferred_from_code"}
	}
	return "high", []string{}
}

// telemetry is the trial's clientTelemetry (contract §8).
func (r *run) telemetry(res client.Result) map[string]any {
	status := "completed"
	switch {
	case res.FailureKind != "" && !r.submitted:
		status = "not_submitted"
	case res.FailureKind != "":
		status = "failed"
	}
	t := map[string]any{"caseExecution": map[string]any{"status": status, "continuation": false}}
	if r.bound != nil {
		t["mcpSelection"] = r.s.selection(r.s.count(r.bound.Turn.Trace().Events))
	}
	return t
}

func (s *session) selection(c callCounts) map[string]any {
	status := "ok"
	switch {
	case c.external > 0:
		status = "unexpected"
	case c.configured == 0 && s.options.RequireMCPCalls:
		status = "missing"
	case c.configured == 0:
		status = "none"
	}
	return map[string]any{
		"status": status, "required": s.options.RequireMCPCalls, "selectedServers": s.labels(),
		"configuredMcpCallCount": c.configured, "externalMcpCallCount": c.external,
		"builtinToolCallCount": c.builtin, "unexpectedServers": c.unexpected,
	}
}

func sha256Hex(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}
