package chatgpt

import (
	"context"
	"errors"
	"time"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/session/client"
	"github.com/berth-run/berth/session/client/engine"
	"github.com/berth-run/berth/session/client/turn"
)

// finish judges the turn by its record, keeps what shows how it went, and stops the app after a failed
// trial, so that the next one starts with none of it. It gives the trial's error: what only concerns
// which tools were used needs no new start.
func (r *run) finish(err error) error {
	engine.NoteToken(r.s.batch.Inference, r.s.redact)
	_ = r.timed(StepEvidence, func() error {
		err = r.judge(err)
		r.kept = r.folder(r.trial.CaseID)
		if err != nil {
			r.kept = r.folder(r.trial.CaseID + "-" + label(err, r.submitted))
		}
		if err = r.record(err); err != nil {
			r.keepFailure(label(err, r.submitted))
		}
		return nil
	})
	if r.spoilt(err) {
		// A failure to stop it is the next trial's error: it doesn't change this one's outcome.
		_ = r.timed(StepStop, func() error { return r.s.stopApp(context.Background()) })
	}
	return err
}

// spoilt tells whether a trial leaves an app behind that the next one shouldn't have.
func (r *run) spoilt(err error) bool { return err != nil && !errors.Is(err, turn.ErrMeasure) }

// judge holds the turn against what the variant asks.
func (r *run) judge(err error) error {
	if err == nil && r.bound != nil {
		err = r.s.rules().Judge(r.bound.Turn)
	}
	return err
}

// unready keeps what there is to tell of a trial that didn't come to its prompt: why the app wasn't ready,
// or else what was asked.
func (r *run) unready(err error) {
	if len(r.s.unready.Kept()) > 0 {
		r.kept = r.s.unready
		return
	}
	r.kept = r.folder(r.trial.CaseID + "-" + label(err, false))
	keepSteps(&r.kept, r.allSteps())
}

// record keeps a copy of the turn's record. With no copy a trial can't pass.
func (r *run) record(err error) error {
	if r.bound == nil {
		return err
	}
	r.steps[StepCodexTurn] = milliseconds(r.bound.Turn.Duration)
	var keep error
	r.rollout, keep = r.kept.Record(r.bound.Rollout.Path())
	if keep != nil && err == nil {
		err = code.Errorf(code.ClientRunFailed, "keeping the evidence: %w", keep)
	}
	return err
}

func (r *run) result(err error) client.Result {
	res := turn.Result(err, r.submitted, r.bound, r.s.redact)
	res.DurationMs, res.Steps = time.Since(r.start).Milliseconds(), r.steps
	res.Metadata = r.metadata(res)
	res.Telemetry = r.telemetry(res)
	return res
}

// metadata is the trial's clientMetadata (contract §8).
func (r *run) metadata(res client.Result) map[string]any {
	confidence, limitations := turn.Confidence(r.bound)
	m := map[string]any{
		"driver":           provider,
		"artifacts":        r.kept.Kept(),
		"correlation":      r.correlation(),
		"traceConfidence":  confidence,
		"traceLimitations": limitations,
	}
	if r.unprepared {
		m[client.FailureKind] = code.AppUnavailable
	}
	if r.bound != nil {
		m["session"] = map[string]any{"id": res.SessionID, "turnId": res.TurnID}
		m["codex"] = turn.Engine(r.bound)
		m["evidence"] = r.rollout
	}
	return m
}

// correlation says by what the record was found. A marker changes the prompt.
func (r *run) correlation() map[string]any {
	c := turn.Correlation(r.prompt, r.bound)
	if r.marker != "" {
		c["strategy"], c["marker"], c["includedInPrompt"], c["promptUnchanged"] = promptMarker, r.marker, true, false
	}
	return c
}

// telemetry is the trial's clientTelemetry (contract §8).
func (r *run) telemetry(res client.Result) map[string]any {
	controller := map[string]any{"provider": provider, "surface": r.s.settings.Surface}
	if r.receipt != nil {
		controller["submission"] = r.receipt
	}
	t := map[string]any{
		"caseExecution":    turn.Execution(res.FailureCode != "", r.submitted),
		"nativeController": controller,
		"batchLifecycle":   r.s.lifecycle(),
		"batchCase":        map[string]any{"index": r.index, "caseId": r.trial.CaseID, "count": r.s.batch.Trials},
	}
	if r.bound != nil {
		t["mcpSelection"] = r.s.rules().Selection(r.bound.Turn)
	}
	return t
}

// openError tells what a batch came to that couldn't be opened.
func (s *batch) openError(err error) error {
	return &client.OpenError{
		Err: err,
		Metadata: map[string]any{
			"driver": provider, client.FailureKind: code.AppUnavailable,
			"traceConfidence": "none", "traceLimitations": []string{}, "nativeReadiness": s.readiness,
		},
		Telemetry: map[string]any{
			"caseExecution":    turn.Execution(true, false),
			"nativeController": map[string]any{"provider": provider, "surface": s.settings.Surface},
			"batchLifecycle":   s.lifecycle(),
		},
	}
}

// lifecycle is the batch's so far. What its clean-up comes to isn't known before its last trial is told, and
// is added to the trials' records then.
func (s *batch) lifecycle() map[string]any {
	l := &s.life
	m := map[string]any{
		"id": s.id, "scope": "batch", "setupStatus": l.status, "cleanupStatus": l.cleaned,
		"setupDurationMs": l.setup.Milliseconds(), "cleanupDurationMs": l.cleanup.Milliseconds(),
		"recoveryCount": l.recoveries, "recoveryDurationMs": l.recovery.Milliseconds(),
		"nativeSetup": s.prepared, "nativeReadiness": s.readiness, "events": append([]event{}, l.events...),
	}
	if s.batch.ProfileDir != "" {
		m["profile"] = "warm"
	}
	if l.screenshot != "" {
		m["prepareScreenshot"] = l.screenshot
	}
	return m
}
