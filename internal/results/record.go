package results

import (
	"encoding/json"

	"github.com/berth-run/berth/internal/evalconfig"
	"github.com/berth-run/berth/internal/trace"
)

// Format of every file, and their kinds.
const (
	Format = "mst.run/v1"

	KindRun     = "run"
	KindTrial   = "trial"
	KindScore   = "score"
	KindResults = "results"
	KindSummary = "summary"
	KindLatest  = "latest"
)

// Envelope begins every file.
type Envelope struct {
	Format string `json:"format"`
	Kind   string `json:"kind"`
}

// Phase states.
const (
	Complete    = "complete"
	Partial     = "partial"
	Skipped     = "skipped"
	PhaseFailed = "failed"
)

// Record is run.json: what ran, where and how far it got.
type Record struct {
	Envelope
	RunID       string                `json:"runId"`
	EvalName    string                `json:"evalName"`
	ConfigID    string                `json:"configId"`
	ContentHash string                `json:"contentHash"`
	CreatedAt   string                `json:"createdAt"`
	FinishedAt  string                `json:"finishedAt"`
	MST         Producer              `json:"mst"`
	Baseline    string                `json:"baseline,omitempty"`
	Variants    []VariantRecord       `json:"variants"`
	Datasets    []DatasetRecord       `json:"datasets"`
	Partial     bool                  `json:"partial"`
	Selection   *evalconfig.Selection `json:"selection,omitempty"`
	Redacted    bool                  `json:"redactStoredResponses"`
	Environment Environment           `json:"environment"`
	Phases      Phases                `json:"phases"`
	// Runner is berth's own: how the shards were made and what was in force.
	Runner *Runner `json:"runner,omitempty"`
	// Expected counts the trials that the run is to have.
	Expected int `json:"expectedTrials"`
}

// Producer is who wrote the run.
type Producer struct {
	Version  string `json:"version"`
	Producer string `json:"producer,omitempty"`
}

// VariantRecord is one variant's setup. Options whose names suggest a secret hold a hash instead.
type VariantRecord struct {
	Name          string              `json:"name"`
	Description   string              `json:"description,omitempty"`
	Servers       []ServerRecord      `json:"servers"`
	Client        string              `json:"client,omitempty"`
	Model         string              `json:"model,omitempty"`
	ClientOptions json.RawMessage     `json:"clientOptions,omitempty"`
	ToolMap       map[string][]string `json:"toolMap,omitempty"`
	InputTemplate string              `json:"inputTemplate,omitempty"`
}

// ServerRecord is one MCP server without values of its environment.
type ServerRecord struct {
	Label     string   `json:"label"`
	Transport string   `json:"transport"`
	Command   string   `json:"command,omitempty"`
	Args      []string `json:"args,omitempty"`
	EnvNames  []string `json:"envNames,omitempty"`
	ServerURL string   `json:"serverUrl,omitempty"`
	MinTools  int      `json:"minTools,omitempty"`
}

// DatasetRecord is one dataset with the cases it has, picked or not.
type DatasetRecord struct {
	Name        string `json:"name"`
	CaseCount   int    `json:"caseCount"`
	ContentHash string `json:"contentHash"`
	Type        string `json:"type,omitempty"`
}

// Environment is where it ran, in MST's terms; Keep is "" for never.
type Environment struct {
	Name     string            `json:"name"`
	Shards   int               `json:"shards"`
	Keep     string            `json:"keep,omitempty"`
	Options  map[string]string `json:"options,omitempty"`
	Platform string            `json:"platform,omitempty"`
	CI       bool              `json:"ci"`
}

// Phases say how far collecting and grading got.
type Phases struct {
	Collect string `json:"collect"`
	Grade   string `json:"grade"`
}

// Runner is what only berth records. It holds no URL, token or path of a credential.
type Runner struct {
	Name   string `json:"name"`
	Engine Engine `json:"engine"`
	Image  Image  `json:"image"`
	// Versions by part: berth, the app, the worker.
	Versions map[string]string `json:"versions,omitempty"`
	// Inference is "gateway" or "api-key"; Credential is "file", "api-key" or "broker".
	Inference  string `json:"inference,omitempty"`
	Credential string `json:"credential,omitempty"`
	// Network is "none" or "engine".
	Network string `json:"network,omitempty"`
	// LimitsMode is "enforced", or "best-effort" when the user took limits that may not be in force.
	LimitsMode string `json:"limitsMode,omitempty"`
	Limits     Limits `json:"limits"`
	// NotEnforced names the limits that were not in force.
	NotEnforced []string `json:"notEnforced,omitempty"`
	// NotSupported names protections that were given up knowingly ("chromium sandbox").
	Notes []string `json:"notes,omitempty"`
	// NativeReadiness is what the client proved before the first prompt, by variant.
	NativeReadiness map[string]any `json:"nativeReadiness,omitempty"`
	// Shards tells of each shard that was started, by rising index. One that was replaced comes before the
	// one in its place, which has the same index.
	Shards []Shard `json:"shards,omitempty"`
}

// Shard is one shard's life in a run.
type Shard struct {
	Index int `json:"index"`
	// Container is its id on the engine; Kept tells that it was left there.
	Container string `json:"container,omitempty"`
	Kept      bool   `json:"kept,omitempty"`
	// Error is why it didn't end as it should, one line with its code.
	Error string `json:"error,omitempty"`
	// Finished counts trials that came back; Missing are the others.
	Finished int            `json:"finished"`
	Missing  []MissingTrial `json:"missing,omitempty"`
	// StepsMs times set-up and clean-up by step.
	StepsMs map[string]float64 `json:"stepsMs,omitempty"`
}

// MissingTrial is a trial that didn't come back, and why.
type MissingTrial struct {
	Variant string `json:"variant"`
	CaseID  string `json:"caseId"`
	Trial   int    `json:"trial"`
	Reason  string `json:"reason"`
}

// Engine is the container engine as it said of itself.
type Engine struct {
	Name     string `json:"name"`
	Version  string `json:"version,omitempty"`
	Runtime  string `json:"runtime,omitempty"`
	Rootless bool   `json:"rootless"`
	Remote   bool   `json:"remote"`
}

// Image is what the shards were made from.
type Image struct {
	Ref    string `json:"ref"`
	Digest string `json:"digest"`
}

// Limits of one shard; 0 is none.
type Limits struct {
	MemoryBytes int64  `json:"memoryBytes,omitempty"`
	Pids        int64  `json:"pids,omitempty"`
	CPUWeight   uint64 `json:"cpuWeight,omitempty"`
}

// Trial is traces/<variant>/<case>/<trial>.json.
type Trial struct {
	Envelope
	RunID               string         `json:"runId"`
	Variant             string         `json:"variant"`
	CaseID              string         `json:"caseId"`
	DatasetName         string         `json:"datasetName"`
	Trial               int            `json:"trial"`
	DurationMs          int64          `json:"durationMs"`
	InfrastructureError bool           `json:"infrastructureError"`
	Error               string         `json:"error,omitempty"`
	Trace               *trace.Trace   `json:"trace,omitempty"`
	ClientUsage         *trace.Usage   `json:"clientUsage,omitempty"`
	ClientTelemetry     map[string]any `json:"clientTelemetry,omitempty"`
	ClientMetadata      map[string]any `json:"clientMetadata,omitempty"`
	TraceEvidence       string         `json:"traceEvidence,omitempty"`
	// Steps times what berth did around the app, in milliseconds by name.
	Steps map[string]float64 `json:"steps,omitempty"`
	// Shard is the index of the shard it ran in.
	Shard *int `json:"shard,omitempty"`
	// Artifacts are files in the run's artifacts folder, relative to the run's folder.
	Artifacts []string `json:"artifacts,omitempty"`
}

// Score is scores/<grader>/<variant>/<case>/<trial>.json.
type Score struct {
	Envelope
	RunID   string    `json:"runId"`
	Grader  string    `json:"grader"`
	Variant string    `json:"variant"`
	CaseID  string    `json:"caseId"`
	Trial   int       `json:"trial"`
	Score   ScoreBody `json:"score"`
}

// ScoreBody is one grader's word.
type ScoreBody struct {
	Pass    bool               `json:"pass"`
	Score   float64            `json:"score"`
	Message string             `json:"message,omitempty"`
	Metrics map[string]float64 `json:"metrics,omitempty"`
}

// Latest is latest.json; Path is the run's folder relative to it.
type Latest struct {
	Envelope
	RunID     string `json:"runId"`
	CreatedAt string `json:"createdAt"`
	Path      string `json:"path"`
}
