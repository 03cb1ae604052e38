package results

import "github.com/berth-run/berth/internal/evalconfig"

// Results is results.json: every case in every variant, its trials and scores joined.
type Results struct {
	Envelope
	RunID string       `json:"runId"`
	Cases []CaseResult `json:"cases"`
}

// CaseResult is one case in one variant.
type CaseResult struct {
	ID          string   `json:"id"`
	Variant     string   `json:"variant"`
	DatasetName string   `json:"datasetName"`
	Input       string   `json:"input"`
	Tags        []string `json:"tags,omitempty"`
	Pass        bool     `json:"pass"`
	// Outcome is passed, failed, missing (incomplete) or ungraded.
	Outcome       string  `json:"outcome"`
	PassRate      float64 `json:"passRate"`
	PassThreshold float64 `json:"passThreshold"`
	// Graded counts the trials in PassRate.
	Graded       int           `json:"graded"`
	Passed       int           `json:"passed"`
	Infra        int           `json:"infra"`
	Missing      int           `json:"missing"`
	TrialResults []TrialResult `json:"trialResults"`
}

// TrialResult is one trial's outcome with its graders' words.
type TrialResult struct {
	Trial               int                  `json:"trial"`
	Outcome             string               `json:"outcome"`
	Pass                bool                 `json:"pass"`
	DurationMs          int64                `json:"durationMs"`
	Error               string               `json:"error,omitempty"`
	FailureKind         string               `json:"failureKind,omitempty"` // one of code.Kinds
	FailureCode         string               `json:"failureCode,omitempty"`
	InfrastructureError bool                 `json:"infrastructureError"`
	Assertions          map[string]ScoreBody `json:"assertions,omitempty"`
	MCPCalls            int                  `json:"mcpCalls"`
	// TracePath is relative to the run's folder; "" for a trial that's missing.
	TracePath string   `json:"tracePath,omitempty"`
	Artifacts []string `json:"artifacts,omitempty"`
}

// Summary is summary.json: totals per variant and for the run, with comparisons.
type Summary struct {
	Envelope
	RunID         string                `json:"runId"`
	ConfigID      string                `json:"configId"`
	ContentHash   string                `json:"contentHash"`
	Timestamp     string                `json:"timestamp"`
	DurationMs    int64                 `json:"durationMs"`
	ConfigName    string                `json:"configName"`
	Variants      []VariantSummary      `json:"variants"`
	Metrics       Metrics               `json:"metrics"`
	Telemetry     Telemetry             `json:"telemetry"`
	VariantDeltas []VariantDelta        `json:"variantDeltas"`
	PreviousRun   *PreviousRun          `json:"previousRun,omitempty"`
	Partial       bool                  `json:"partial"`
	Selection     *evalconfig.Selection `json:"selection,omitempty"`
	Trials        TrialCounts           `json:"trials"`
}

// VariantSummary is one variant's totals.
type VariantSummary struct {
	Name      string      `json:"name"`
	Client    string      `json:"client,omitempty"`
	Model     string      `json:"model,omitempty"`
	Metrics   Metrics     `json:"metrics"`
	Trials    TrialCounts `json:"trials"`
	Telemetry Telemetry   `json:"telemetry"`
}

// Metrics count cases. PassRate is Passed of Passed+Failed; incomplete cases are left out of it.
type Metrics struct {
	Total      int     `json:"total"`
	Passed     int     `json:"passed"`
	Failed     int     `json:"failed"`
	Incomplete int     `json:"incomplete"`
	Ungraded   int     `json:"ungraded,omitempty"`
	PassRate   float64 `json:"passRate"`
}

// TrialCounts count trials; PassRate is Passed of Passed+Failed.
type TrialCounts struct {
	Expected int     `json:"expected"`
	Passed   int     `json:"passed"`
	Failed   int     `json:"failed"`
	Infra    int     `json:"infra"`
	Missing  int     `json:"missing"`
	Ungraded int     `json:"ungraded,omitempty"`
	PassRate float64 `json:"passRate"`
}

// Telemetry sums over the trials that count. CostUSD is nil when it's unknown for any of them;
// CostSource says where prices are from, "client" or "config".
type Telemetry struct {
	MCPCalls                 int      `json:"mcpCalls"`
	ClientEvents             int      `json:"clientEvents"`
	InputTokens              int64    `json:"inputTokens"`
	OutputTokens             int64    `json:"outputTokens"`
	CacheReadInputTokens     int64    `json:"cacheReadInputTokens"`
	CacheCreationInputTokens int64    `json:"cacheCreationInputTokens"`
	ReasoningOutputTokens    int64    `json:"reasoningOutputTokens"`
	DurationMs               int64    `json:"durationMs"`
	CostUSD                  *float64 `json:"costUsd,omitempty"`
	CostSource               string   `json:"costSource,omitempty"`
}

// VariantDelta is a variant less the baseline.
type VariantDelta struct {
	Variant       string   `json:"variant"`
	Baseline      string   `json:"baseline"`
	PassRate      float64  `json:"passRate"`
	TrialPassRate float64  `json:"trialPassRate"`
	MCPCalls      int      `json:"mcpCalls"`
	InputTokens   int64    `json:"inputTokens"`
	OutputTokens  int64    `json:"outputTokens"`
	DurationMs    int64    `json:"durationMs"`
	CostUSD       *float64 `json:"costUsd,omitempty"`
	Paired        Paired   `json:"paired"`
}

// Verdicts of a paired test.
const (
	VerdictBetter  = "better"
	VerdictWorse   = "worse"
	VerdictUnclear = "unclear"
)

// Paired compares a variant with the baseline case by case, over the cases that both have graded.
type Paired struct {
	Cases   int     `json:"cases"`
	Better  int     `json:"better"`
	Worse   int     `json:"worse"`
	Same    int     `json:"same"`
	PValue  float64 `json:"pValue"`
	Verdict string  `json:"verdict"`
}

// PreviousRun is the eval's latest run before this one.
type PreviousRun struct {
	RunID string `json:"runId"`
	// SameContent tells whether config and datasets were the same.
	SameContent   bool    `json:"sameContent"`
	SameRunner    bool    `json:"sameRunner"`
	PassRate      float64 `json:"passRate"`
	PassRateDelta float64 `json:"passRateDelta"`
	// Variants are the changes of those that both runs have.
	Variants []PreviousVariant `json:"variants"`
}

// PreviousVariant is one variant's pass rate then, and the change since.
type PreviousVariant struct {
	Name          string  `json:"name"`
	PassRate      float64 `json:"passRate"`
	PassRateDelta float64 `json:"passRateDelta"`
}
