// Package client is what the worker needs of an app under test: open a batch (one variant: config,
// credentials, readiness), run its cases one after another, close it. How an app is driven is its
// own package's business; this one knows no app and no container engine.
package client

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/trace"
)

// Client drives one kind of app. It's safe for one batch at a time.
type Client interface {
	// Info tells the app's name and version, asked of the app itself.
	Info(ctx context.Context) (Info, error)
	// Open readies a batch. An error carries a code of package code, and means that nothing was sent
	// and that every trial of the batch is an infrastructure failure.
	Open(ctx context.Context, b Batch) (Session, error)
}

// OpenError is an Open's error with what the client tells of it, for the record of each trial.
type OpenError struct {
	Err       error
	Metadata  map[string]any
	Telemetry map[string]any
}

func (e *OpenError) Error() string { return e.Err.Error() }
func (e *OpenError) Unwrap() error { return e.Err }

// Info identifies the app under test.
type Info struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
}

// Session is an opened batch.
type Session interface {
	// Readiness is recorded with every trial of the batch (clientMetadata.nativeReadiness).
	Readiness() Readiness
	// Run does one trial, submitting its prompt at most once. It always returns a Result; when ctx is
	// cancelled, one with code.Cancelled, soon.
	Run(ctx context.Context, t Trial) Result
	// Close ends what Open and Run started and removes what they made.
	Close(ctx context.Context) error
}

// Batch is one variant's settings, as the worker hands them to a client.
type Batch struct {
	Variant string
	Model   string
	// Options is the variant's clientOptions, a JSON object, its keys already checked by the coordinator.
	Options json.RawMessage
	Servers []Server
	// Inference says how the app reaches its model.
	Inference Inference
	// Trials is how many are to be run.
	Trials int
	// EvidenceDir exists, is empty and 0700; what a client writes there comes back with the results.
	EvidenceDir string
	// ProfileDir is app state that a client's fresh profile is to begin with, "" for none. A client that
	// knows of no such thing leaves it alone.
	ProfileDir string
}

// Server is one MCP server of the variant, resolved for this shard.
type Server struct {
	Label     string            `json:"label"`
	Transport string            `json:"transport"` // "stdio" or "http"
	Command   string            `json:"command,omitempty"`
	Args      []string          `json:"args,omitempty"`
	Cwd       string            `json:"cwd,omitempty"`
	Env       map[string]string `json:"env,omitempty"`
	URL       string            `json:"url,omitempty"`
	MinTools  int               `json:"minTools,omitempty"`
	// TokenEnv names the variable that holds an http server's bearer, "" for none.
	TokenEnv string `json:"tokenEnv,omitempty"`
	// Token is that bearer. It goes into the app's environment and into no file.
	Token string `json:"-"`
}

// Inference modes.
const (
	ModeGateway = "gateway"
	ModeAPIKey  = "api-key"
)

// Inference is where the model is and where its credential lies.
type Inference struct {
	Mode string
	// BaseURL is the gateway as seen from inside the shard (plain http on its loopback).
	BaseURL string
	// TokenFile is renewed in place by the coordinator; the app reads it with /bin/cat.
	TokenFile string
}

// RecordPrefix begins the name of an evidence file that is the client's own record of a trial, with
// every answer and tool output in it.
const RecordPrefix = "matched-"

// Evidence files with all that an app's window said: while no prompt had been sent to it, and afterwards, when
// answers may be among that.
const (
	TreeFile         = "accessibility-tree.txt"
	AnsweredTreeFile = "accessibility-tree-after-send.txt"
)

// IsRecord tells of an evidence file by its name that it's a record, with the answers in it as text. A run
// whose responses are redacted stores it without them.
func IsRecord(name string) bool { return strings.HasPrefix(name, RecordPrefix) }

// IsAnsweredTree is IsRecord for what a window said.
func IsAnsweredTree(name string) bool { return name == AnsweredTreeFile }

// IsTree tells of both files.
func IsTree(name string) bool { return name == TreeFile || IsAnsweredTree(name) }

// FailureKind is where metadata have a failure's kind when it isn't the code's own Kind: a client knows what it
// was doing.
const FailureKind = "failureKind"

// Status of a batch's set-up and of its clean-up, in its batchLifecycle (contract §8).
const (
	NotStarted = "not-started"
	Completed  = "completed"
	Failed     = "failed"
)

// StatusOf is that of what ended with err.
func StatusOf(err error) string {
	if err != nil {
		return Failed
	}
	return Completed
}

// Trial is one prompt to run.
type Trial struct {
	CaseID string
	Trial  int
	Prompt string
}

// Readiness is what was proved before the first prompt. It holds no URL, token or path.
type Readiness struct {
	ExecutionPolicy   string         `json:"executionPolicy,omitempty"`
	BuiltinToolPolicy *ToolPolicy    `json:"builtinToolPolicy,omitempty"`
	Login             string         `json:"login"`     // not-run, verified, failed
	Inference         string         `json:"inference"` // gateway, api-key
	MCPPreflight      []ServerStatus `json:"mcpPreflight"`
	MCPStatus         string         `json:"mcpStatus,omitempty"`
	// Plugins are those that were installed for the variant.
	Plugins []InstalledPlugin `json:"plugins,omitempty"`
	Error   string            `json:"error,omitempty"`
}

// ToolPolicy says which of an app's own tools are off, so that the servers under test are used.
type ToolPolicy struct {
	DisabledPlugins  []string `json:"disabledPlugins"`
	WebSearch        string   `json:"webSearch"`
	DisabledFeatures []string `json:"disabledFeatures"`
}

// ServerStatus is one MCP server's preflight.
type ServerStatus struct {
	Label     string `json:"label"`
	Status    string `json:"status"` // ready, failed
	ToolCount int    `json:"toolCount"`
	ElapsedMs int64  `json:"elapsedMs"`
	Error     string `json:"error,omitempty"`
}

// Result is one trial's outcome, the `result` of a client-result file.
type Result struct {
	// Trace is nil when nothing was recorded.
	Trace      *trace.Trace `json:"trace,omitempty"`
	DurationMs int64        `json:"durationMs"`
	// FailureCode is "" when the app answered. The record has its Kind beside it.
	FailureCode code.Code `json:"failureCode,omitempty"`
	// Error is one redacted line; set exactly when FailureCode is.
	Error string `json:"error,omitempty"`
	// Infrastructure marks a failure that says nothing about the app: the trial is left out of rates.
	Infrastructure bool `json:"infrastructureError"`
	// Submitted tells whether the prompt was sent.
	Submitted bool `json:"submitted"`
	// SessionID and TurnID are the app's own, from its record.
	SessionID string `json:"sessionId,omitempty"`
	TurnID    string `json:"turnId,omitempty"`
	// Steps times what berth did around the app, in milliseconds by step name.
	Steps map[string]float64 `json:"steps,omitempty"`
	// Metadata and Telemetry go into the trial's clientMetadata and clientTelemetry as they are.
	Metadata  map[string]any `json:"clientMetadata,omitempty"`
	Telemetry map[string]any `json:"clientTelemetry,omitempty"`
}
