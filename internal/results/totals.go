package results

import (
	"github.com/berth-run/berth/internal/evalconfig"
	"github.com/berth-run/berth/internal/grade"
	"github.com/berth-run/berth/internal/shardproto"
)

// Sources of a cost.
const (
	CostFromClient = "client"
	CostFromConfig = "config"
)

// variantSummary is one variant's totals.
func variantSummary(v *evalconfig.Variant, cases []CaseResult, trials map[shardproto.Key]*Trial, prices map[string]evalconfig.Price) VariantSummary {
	return VariantSummary{
		Name: v.Name, Client: v.Client, Model: v.Model,
		Metrics: caseMetrics(cases), Trials: trialCounts(cases), Telemetry: telemetry(v.Model, cases, trials, prices),
	}
}

func caseMetrics(cases []CaseResult) Metrics {
	m := Metrics{Total: len(cases)}
	for _, c := range cases {
		switch grade.Outcome(c.Outcome) {
		case grade.Passed:
			m.Passed++
		case grade.Failed:
			m.Failed++
		case grade.Ungraded:
			m.Ungraded++
		default:
			m.Incomplete++
		}
	}
	m.PassRate = rate(m.Passed, m.Passed+m.Failed)
	return m
}

func trialCounts(cases []CaseResult) TrialCounts {
	var n TrialCounts
	for _, c := range cases {
		for _, t := range c.TrialResults {
			n.Expected++
			switch grade.Outcome(t.Outcome) {
			case grade.Passed:
				n.Passed++
			case grade.Failed:
				n.Failed++
			case grade.Infra:
				n.Infra++
			case grade.Ungraded:
				n.Ungraded++
			default:
				n.Missing++
			}
		}
	}
	n.PassRate = rate(n.Passed, n.Passed+n.Failed)
	return n
}

// rate is n of all, 0 of nothing.
func rate(n, all int) float64 {
	if all == 0 {
		return 0
	}
	return float64(n) / float64(all)
}

// telemetry sums over the trials that infrastructure didn't lose.
func telemetry(model string, cases []CaseResult, trials map[shardproto.Key]*Trial, prices map[string]evalconfig.Price) Telemetry {
	var sum Telemetry
	cost, known, any := 0.0, true, false
	for _, c := range cases {
		for n := range c.TrialResults {
			t := trials[shardproto.Key{Variant: c.Variant, CaseID: c.ID, Trial: n}]
			if t == nil || t.InfrastructureError {
				continue
			}
			any = true
			sum.add(t)
			usd, source := trialCost(model, t, prices)
			cost += usd
			known = known && source != ""
			if source != "" && sum.CostSource != CostFromConfig {
				sum.CostSource = source
			}
		}
	}
	if any && known {
		sum.CostUSD = &cost
	} else {
		sum.CostSource = ""
	}
	return sum
}

func (s *Telemetry) add(t *Trial) {
	mcp, other := events(t)
	s.MCPCalls += mcp
	s.ClientEvents += other
	s.DurationMs += t.DurationMs
	if t.Trace == nil || t.Trace.Usage == nil {
		return
	}
	u := t.Trace.Usage
	s.InputTokens += u.InputTokens
	s.OutputTokens += u.OutputTokens
	s.CacheReadInputTokens += u.CacheReadInputTokens
	s.CacheCreationInputTokens += u.CacheCreationInputTokens
	s.ReasoningOutputTokens += u.ReasoningOutputTokens
}

// trialCost is in US dollars; its source is "" when the cost is unknown, which isn't 0.
func trialCost(model string, t *Trial, prices map[string]evalconfig.Price) (float64, string) {
	if t.Trace == nil || t.Trace.Usage == nil {
		return 0, ""
	}
	u := t.Trace.Usage
	if u.TotalCostUSD != nil {
		return *u.TotalCostUSD, CostFromClient
	}
	p, ok := prices[model]
	if !ok || u.CacheReadInputTokens > 0 && p.CacheRead == nil || u.CacheCreationInputTokens > 0 && p.CacheWrite == nil {
		return 0, ""
	}
	usd := float64(u.InputTokens)*p.Input + float64(u.OutputTokens)*p.Output
	if p.CacheRead != nil {
		usd += float64(u.CacheReadInputTokens) * *p.CacheRead
	}
	if p.CacheWrite != nil {
		usd += float64(u.CacheCreationInputTokens) * *p.CacheWrite
	}
	return usd / 1e6, CostFromConfig
}

// total sums the variants' telemetry; the cost is known when every variant's is.
func total(vs []VariantSummary) Telemetry {
	var sum Telemetry
	cost, known := 0.0, len(vs) > 0
	for _, v := range vs {
		t := v.Telemetry
		sum.MCPCalls += t.MCPCalls
		sum.ClientEvents += t.ClientEvents
		sum.InputTokens += t.InputTokens
		sum.OutputTokens += t.OutputTokens
		sum.CacheReadInputTokens += t.CacheReadInputTokens
		sum.CacheCreationInputTokens += t.CacheCreationInputTokens
		sum.ReasoningOutputTokens += t.ReasoningOutputTokens
		sum.DurationMs += t.DurationMs
		known = known && t.CostUSD != nil
		if known {
			cost += *t.CostUSD
		}
	}
	if known {
		sum.CostUSD = &cost
	}
	return sum
}
