package results

import (
	"errors"
	"path/filepath"
)

// deltas compares every variant with the baseline; none without one.
func deltas(baseline string, vs []VariantSummary, byVariant map[string][]CaseResult) []VariantDelta {
	out := []VariantDelta{}
	for _, base := range vs {
		if base.Name != baseline {
			continue
		}
		for _, v := range vs {
			if v.Name != baseline {
				out = append(out, delta(v, base, byVariant))
			}
		}
	}
	return out
}

func delta(v, base VariantSummary, byVariant map[string][]CaseResult) VariantDelta {
	d := VariantDelta{
		Variant: v.Name, Baseline: base.Name,
		PassRate:      v.Metrics.PassRate - base.Metrics.PassRate,
		TrialPassRate: v.Trials.PassRate - base.Trials.PassRate,
		MCPCalls:      v.Telemetry.MCPCalls - base.Telemetry.MCPCalls,
		InputTokens:   v.Telemetry.InputTokens - base.Telemetry.InputTokens,
		OutputTokens:  v.Telemetry.OutputTokens - base.Telemetry.OutputTokens,
		DurationMs:    v.Telemetry.DurationMs - base.Telemetry.DurationMs,
		Paired:        paired(byVariant[v.Name], byVariant[base.Name]),
	}
	if v.Telemetry.CostUSD != nil && base.Telemetry.CostUSD != nil {
		usd := *v.Telemetry.CostUSD - *base.Telemetry.CostUSD
		d.CostUSD = &usd
	}
	return d
}

// previous compares with the eval's latest run; nil when there is none, it is this one, or it can't
// be read: an old run's state must not fail a new one. A selection, or a run of which no case is
// complete, has no rate to compare.
func (r *Run) previous(now *Summary) *PreviousRun {
	if !hasRate(now) {
		return nil
	}
	l, err := ReadLatest(r.EvalDir)
	if err != nil || l.RunID == now.RunID || !runIDForm.MatchString(l.RunID) {
		return nil
	}
	dir := filepath.Join(r.EvalDir, "runs", l.RunID)
	var old Summary
	var rec Record
	err = errors.Join(readJSON(filepath.Join(dir, "summary.json"), KindSummary, &old), readJSON(filepath.Join(dir, "run.json"), KindRun, &rec))
	if err != nil || !hasRate(&old) {
		return nil
	}
	p := &PreviousRun{
		RunID: l.RunID, SameContent: old.ContentHash == now.ContentHash,
		SameRunner: rec.Environment.Name == r.Record().Environment.Name,
		PassRate:   old.Metrics.PassRate, PassRateDelta: now.Metrics.PassRate - old.Metrics.PassRate,
		Variants: []PreviousVariant{},
	}
	for _, v := range now.Variants {
		for _, o := range old.Variants {
			if o.Name == v.Name {
				p.Variants = append(p.Variants, PreviousVariant{v.Name, o.Metrics.PassRate, v.Metrics.PassRate - o.Metrics.PassRate})
			}
		}
	}
	return p
}

func hasRate(s *Summary) bool {
	return !s.Partial && s.Metrics.Passed+s.Metrics.Failed > 0
}
