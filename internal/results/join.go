package results

import (
	"path/filepath"

	"github.com/berth-run/berth/internal/evalconfig"
	"github.com/berth-run/berth/internal/grade"
	"github.com/berth-run/berth/internal/shardproto"
	"github.com/berth-run/berth/internal/trace"
)

// joined is what the trials of a run come to.
type joined struct {
	cases  []CaseResult // by variant, then case
	scores map[shardproto.Key][]grade.Score
}

// join grades trials (or doesn't) and puts them together by case.
func join(e *evalconfig.Eval, trials map[shardproto.Key]*Trial, graded bool) joined {
	j := joined{cases: []CaseResult{}, scores: map[shardproto.Key][]grade.Score{}}
	for i := range e.Variants {
		for k := range e.Cases {
			j.cases = append(j.cases, j.oneCase(&e.Variants[i], &e.Cases[k], trials, graded))
		}
	}
	return j
}

func (j *joined) oneCase(v *evalconfig.Variant, c *evalconfig.Case, trials map[shardproto.Key]*Trial, graded bool) CaseResult {
	r := CaseResult{
		ID: c.ID, Variant: v.Name, DatasetName: c.Dataset, Input: c.Input, Tags: c.Tags,
		PassThreshold: c.PassThreshold, TrialResults: []TrialResult{},
	}
	outcomes := make([]grade.Outcome, c.Trials)
	for n := range c.Trials {
		k := shardproto.Key{Variant: v.Name, CaseID: c.ID, Trial: n}
		t := trials[k]
		outcome, scores := grade.Trial(c.Assertions, t.attempt(), v.ToolMap)
		if !graded && (outcome == grade.Passed || outcome == grade.Failed) {
			outcome, scores = grade.Ungraded, nil
		}
		outcomes[n] = outcome
		if len(scores) > 0 {
			j.scores[k] = scores
		}
		r.TrialResults = append(r.TrialResults, trialResult(k, t, outcome, scores))
	}
	sum := grade.Judge(outcomes, c.PassThreshold)
	r.Outcome, r.Pass = string(sum.Outcome), sum.Outcome == grade.Passed
	r.PassRate, r.Graded, r.Passed, r.Infra, r.Missing = sum.PassRate, sum.Graded, sum.Passed, sum.Infra, sum.Missing
	return r
}

func trialResult(k shardproto.Key, t *Trial, o grade.Outcome, scores []grade.Score) TrialResult {
	r := TrialResult{Trial: k.Trial, Outcome: string(o), Pass: o == grade.Passed}
	for _, s := range scores {
		if r.Assertions == nil {
			r.Assertions = map[string]ScoreBody{}
		}
		b := ScoreBody{Pass: s.Pass, Message: s.Message, Metrics: s.Metrics}
		if s.Pass {
			b.Score = 1
		}
		r.Assertions[s.Grader] = b
	}
	if t == nil {
		return r
	}
	r.DurationMs, r.Error, r.FailureKind, r.FailureCode = t.DurationMs, t.Error, t.FailureKind(), t.FailureCode()
	r.InfrastructureError, r.Artifacts = t.InfrastructureError, t.Artifacts
	r.MCPCalls, _ = events(t)
	r.TracePath = filepath.ToSlash(TracePath(k))
	return r
}

// events counts a trial's calls to MCP servers, and its other events.
func events(t *Trial) (mcp, other int) {
	if t.Trace == nil {
		return 0, 0
	}
	for _, e := range t.Trace.Events {
		if e.Kind == trace.KindToolCall && e.Source == trace.SourceMCP {
			mcp++
		} else {
			other++
		}
	}
	return mcp, other
}
