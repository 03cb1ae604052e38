package results

import (
	"path/filepath"
	"time"

	"github.com/berth-run/berth/internal/evalconfig"
	"github.com/berth-run/berth/internal/shardproto"
)

// Finished is a run as a report shows it. Trials are redacted when the run is.
type Finished struct {
	Dir     string
	Record  Record
	Summary Summary
	Cases   []CaseResult
	Trials  map[shardproto.Key]*Trial
}

// Finish grades the trials that came back (unless grading is off), and writes scores, results.json,
// summary.json and the end of run.json. trials are as collected, with answers, and hold the resumed
// run's too. It may be called again after more trials came back. latest.json isn't written: that's
// PublishLatest, after the report.
func (r *Run) Finish(e *evalconfig.Eval, trials map[shardproto.Key]*Trial, graded bool, now time.Time) (*Finished, error) {
	j := join(e, trials, graded)
	for k, scores := range j.scores {
		if err := r.SaveScores(k, scores); err != nil {
			return nil, err
		}
	}
	id := r.Record().RunID
	if err := writeJSON(filepath.Join(r.Dir, "results.json"), Results{Envelope{Format, KindResults}, id, j.cases}); err != nil {
		return nil, err
	}
	s := r.summarize(e, &j, trials, now)
	if err := writeJSON(filepath.Join(r.Dir, "summary.json"), s); err != nil {
		return nil, err
	}
	if err := r.finish(phases(s.Trials, graded), now); err != nil {
		return nil, err
	}
	return &Finished{Dir: r.Dir, Record: r.Record(), Summary: s, Cases: j.cases, Trials: r.shown(trials)}, nil
}

// phases: a trial that infrastructure lost counts as not collected, so that --resume makes up for it
// and the run doesn't become the latest.
func phases(n TrialCounts, graded bool) Phases {
	p := Phases{Collect: Complete, Grade: Complete}
	switch n.Expected {
	case n.Missing + n.Infra:
		p.Collect = PhaseFailed
	case n.Passed + n.Failed + n.Ungraded:
	default:
		p.Collect = Partial
	}
	if !graded {
		p.Grade = Skipped
	}
	return p
}

func (r *Run) summarize(e *evalconfig.Eval, j *joined, trials map[shardproto.Key]*Trial, now time.Time) Summary {
	rec := r.Record()
	s := Summary{
		Envelope: Envelope{Format, KindSummary}, RunID: rec.RunID, ConfigID: rec.ConfigID, ContentHash: rec.ContentHash,
		Timestamp: rec.CreatedAt, ConfigName: rec.EvalName, Partial: rec.Partial, Selection: rec.Selection,
		Metrics: caseMetrics(j.cases), Trials: trialCounts(j.cases), Variants: []VariantSummary{},
	}
	if start, err := time.Parse(time.RFC3339, rec.CreatedAt); err == nil {
		// Between a run and one that resumes it, the clock may have been set back.
		s.DurationMs = max(0, now.Sub(start).Milliseconds())
	}
	byVariant := map[string][]CaseResult{}
	for _, c := range j.cases {
		byVariant[c.Variant] = append(byVariant[c.Variant], c)
	}
	for i := range e.Variants {
		v := &e.Variants[i]
		s.Variants = append(s.Variants, variantSummary(v, byVariant[v.Name], trials, e.Config.Pricing))
	}
	s.Telemetry = total(s.Variants)
	s.VariantDeltas = deltas(e.Baseline, s.Variants, byVariant)
	s.PreviousRun = r.previous(&s)
	return s
}

// shown are the trials as they may be shown.
func (r *Run) shown(trials map[shardproto.Key]*Trial) map[shardproto.Key]*Trial {
	if !r.Record().Redacted {
		return trials
	}
	out := map[shardproto.Key]*Trial{}
	for k, t := range trials {
		c := t.redacted()
		out[k] = &c
	}
	return out
}
