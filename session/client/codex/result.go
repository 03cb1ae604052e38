package codex

import (
	"context"
	"io"
	"time"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/session/client"
	"github.com/berth-run/berth/session/client/engine"
	"github.com/berth-run/berth/session/client/turn"
)

// finish ends Codex, reads and keeps what it recorded, and takes the home away. It gives the trial's
// error: a failure to clean up doesn't change an outcome, but no other trial is run after it.
func (r *run) finish(err error) error {
	if r.app != nil {
		stop := r.timed(StepStop, func() error { return r.app.Process.End(context.Background()) })
		r.s.breakOn(stop)
	}
	engine.NoteToken(r.s.batch.Inference, r.s.redact)
	err = r.room(r.record(err))
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
				err = r.s.rules().Judge(r.bound.Turn)
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

// keep copies the matched record and, for a failed trial, the end of Codex's log.
func (r *run) keep(failed bool) (err error) {
	if r.bound != nil {
		if r.rollout, err = r.evidence.Record(r.bound.Rollout.Path()); err != nil {
			return err
		}
	}
	if failed && r.app != nil {
		_, err = r.evidence.Text("codex-app-server.log", func(w io.Writer) error {
			_, err := io.WriteString(w, r.app.Process.Stderr())
			return err
		})
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
	m := map[string]any{
		"driver":          "codex-app-server",
		"correlation":     turn.Correlation(r.trial.Prompt, r.bound),
		"traceConfidence": "none",
		"executionPolicy": r.s.readiness.ExecutionPolicy,
	}
	if r.bound != nil {
		m["session"] = map[string]any{"id": res.SessionID, "turnId": res.TurnID}
		m["codex"] = turn.Engine(r.bound)
		m["traceConfidence"], m["traceLimitations"] = turn.Confidence(r.bound)
	}
	if kept := r.evidence.Kept(); len(kept) > 0 {
		m["evidence"] = r.rollout
		m["artifacts"] = kept
	}
	if r.app != nil {
		if refused := r.app.Refused(); len(refused) > 0 {
			m["refusedRequests"] = refused
		}
	}
	return m
}

// telemetry is the trial's clientTelemetry (contract §8).
func (r *run) telemetry(res client.Result) map[string]any {
	t := map[string]any{"caseExecution": turn.Execution(res.FailureCode != "", r.submitted)}
	if r.bound != nil {
		t["mcpSelection"] = r.s.rules().Selection(r.bound.Turn)
	}
	return t
}
