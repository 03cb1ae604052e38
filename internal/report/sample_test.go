package report

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/berth-run/berth/internal/results"
	"github.com/berth-run/berth/internal/shardproto"
	"github.com/berth-run/berth/internal/trace"
)

// sample is a finished run of two variants and eight cases: the tools help, one trial timed out, one
// was lost and one is missing.
func sample(t *testing.T, redacted bool) *results.Finished {
	t.Helper()
	usd := 0.0342
	f := &results.Finished{Dir: t.TempDir(), Trials: map[shardproto.Key]*results.Trial{}, Record: results.Record{
		RunID: "20261007T182504Z-7f3c2a", EvalName: "runbook-search", CreatedAt: "2026-10-07T18:25:04.000Z", FinishedAt: "2026-10-07T18:28:09.000Z",
		ContentHash: "6d1f0c", Baseline: "plain", Redacted: redacted, MST: results.Producer{Version: "0.1.0"},
		Environment: results.Environment{Name: "podman", Shards: 2, Platform: "linux/amd64"},
		Phases:      results.Phases{Collect: results.Partial, Grade: results.Complete},
		Datasets:    []results.DatasetRecord{{Name: "runbooks", CaseCount: 8}},
		Variants: []results.VariantRecord{
			{Name: "plain", Client: "berth/client/codex", Model: "gpt-5.5", ClientOptions: json.RawMessage(`{"reasoningEffort":"medium"}`)},
			{Name: "with-wiki", Client: "berth/client/codex", Model: "gpt-6-luna", ClientOptions: json.RawMessage(`{"reasoningEffort":"high"}`),
				Servers: []results.ServerRecord{{Label: "wiki", Transport: "stdio"}}},
		},
		Runner: &results.Runner{Name: "podman", Engine: results.Engine{Name: "podman", Version: "4.3.1", Runtime: "crun 1.8.1", Rootless: true},
			Image: results.Image{Ref: "berth-codex:0.1.0", Digest: "sha256:0f3a"}, Versions: map[string]string{"codex": "0.171.0"}, Inference: "gateway",
			Credential: "file", Network: "none", LimitsMode: "best-effort", NotEnforced: []string{"memory"}, Limits: results.Limits{MemoryBytes: 2 << 30}},
	}}
	for _, v := range []string{"plain", "with-wiki"} {
		for i := range 8 {
			addCase(f, v, i)
		}
	}
	f.Summary = results.Summary{
		RunID: f.Record.RunID, ConfigName: "runbook-search", DurationMs: 185_000,
		Metrics: results.Metrics{Total: 16, Passed: 8, Failed: 6, Incomplete: 2, PassRate: 8.0 / 14},
		Trials:  results.TrialCounts{Expected: 16, Passed: 8, Failed: 6, Infra: 1, Missing: 1, PassRate: 8.0 / 14},
		Variants: []results.VariantSummary{
			{Name: "plain", Client: "berth/client/codex", Model: "gpt-5.5", Metrics: results.Metrics{Total: 8, Passed: 1, Failed: 6, Incomplete: 1, PassRate: 1.0 / 7},
				Trials: results.TrialCounts{Expected: 8, Passed: 1, Failed: 6, Infra: 1, PassRate: 1.0 / 7}, Telemetry: results.Telemetry{InputTokens: 8123, OutputTokens: 912, DurationMs: 64_300}},
			{Name: "with-wiki", Client: "berth/client/codex", Model: "gpt-6-luna", Metrics: results.Metrics{Total: 8, Passed: 7, Incomplete: 1, PassRate: 1},
				Trials: results.TrialCounts{Expected: 8, Passed: 7, Missing: 1, PassRate: 1}, Telemetry: results.Telemetry{MCPCalls: 9, InputTokens: 1_020_123, OutputTokens: 2044, DurationMs: 121_000, CostUSD: &usd}},
		},
		VariantDeltas: []results.VariantDelta{{Variant: "with-wiki", Baseline: "plain", PassRate: 6.0 / 7,
			Paired: results.Paired{Cases: 7, Better: 6, Same: 1, PValue: 0.03125, Verdict: results.VerdictBetter}}},
		PreviousRun: &results.PreviousRun{RunID: "20261006T090000Z-aaaaaa", SameContent: false, SameRunner: true, PassRate: 0.5, PassRateDelta: 8.0/14 - 0.5},
	}
	return f
}

func addCase(f *results.Finished, variant string, i int) {
	c := results.CaseResult{ID: fmt.Sprintf("rb-%03d", i), Variant: variant, DatasetName: "runbooks", Input: "Which runbook covers a full disk on the log hosts?", Tags: []string{"regression"}, PassThreshold: 1, Graded: 1}
	tr := results.TrialResult{DurationMs: 4200}
	switch {
	case variant == "with-wiki" && i == 7:
		c.Graded, c.Missing, c.Outcome, tr.Outcome = 0, 1, "missing", "missing"
	case variant == "plain" && i == 6:
		c.Graded, c.Infra, c.Outcome, tr.Outcome, tr.Error = 0, 1, "missing", "infra", "oom_killed: the shard hit its memory limit"
	case variant == "plain" && i == 5:
		c.Outcome, tr.Outcome, tr.Error = "failed", "failed", "timeout: no answer within 300 s"
	case variant == "plain" && i > 0:
		c.Outcome, tr.Outcome = "failed", "failed"
		tr.Assertions = map[string]results.ScoreBody{"containsText": {Message: `the answer doesn't contain "RB-17"`}, "toolCallCount": {Pass: true, Score: 1}}
	default:
		c.Outcome, tr.Outcome, c.Pass, tr.Pass, c.Passed, c.PassRate = "passed", "passed", true, true, 1, 1
		tr.Assertions = map[string]results.ScoreBody{"containsText": {Pass: true, Score: 1}}
	}
	c.TrialResults = []results.TrialResult{tr}
	f.Cases = append(f.Cases, c)
	if tr.Outcome == "missing" {
		return
	}
	full := &results.Trial{Variant: variant, CaseID: c.ID, DurationMs: 4200, Trace: &trace.Trace{Evidence: trace.EvidenceStructured}}
	if variant == "with-wiki" {
		full.Trace.Events = []trace.Event{{Kind: trace.KindToolCall, Source: trace.SourceMCP, Server: "wiki", Name: "search", Arguments: json.RawMessage(`{"query":"full disk log hosts"}`)}}
	}
	if !f.Record.Redacted {
		full.Trace.FinalText = "I don't know."
		if c.Pass {
			full.Trace.FinalText = "RB-17, section 2, covers a full disk on the log hosts."
		}
		for i := range full.Trace.Events {
			full.Trace.Events[i].Output = json.RawMessage(`{"hits":["RB-17"]}`)
		}
	}
	f.Trials[full.Key()] = full
}
