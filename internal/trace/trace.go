// Package trace holds what a trial did, in the shape of the mst.run/v1 trace: the client in the
// shard writes it, the graders and the report read it. JSON keys are the format's.
package trace

import "encoding/json"

// Trace is one trial's record.
type Trace struct {
	FinalText string  `json:"finalText,omitempty"`
	Events    []Event `json:"events"`
	Usage     *Usage  `json:"usage,omitempty"`
	Error     string  `json:"error,omitempty"`
	// Evidence is where the events came from: "structured" (the client's own record), "observed", "none".
	Evidence string `json:"evidence"`
}

// Event kinds and sources.
const (
	KindToolCall   = "tool_call"
	KindCommand    = "command"
	KindSkill      = "skill"
	KindSubagent   = "subagent"
	KindToolSearch = "tool_search"

	SourceMCP     = "mcp"
	SourceBuiltin = "builtin"

	EvidenceStructured = "structured"
	EvidenceObserved   = "observed"
	EvidenceNone       = "none"
)

// Event is one thing the client did, in order.
type Event struct {
	Kind   string `json:"kind"`
	Source string `json:"source"`
	// Name is the tool's own name, without its server.
	Name string `json:"name"`
	// Server is the MCP server's label in the eval config.
	Server      string          `json:"server,omitempty"`
	Arguments   json.RawMessage `json:"arguments,omitempty"`
	Output      json.RawMessage `json:"output,omitempty"`
	IsError     bool            `json:"isError,omitempty"`
	RawName     string          `json:"rawName,omitempty"`
	ID          string          `json:"id,omitempty"`
	DurationMs  *int64          `json:"durationMs,omitempty"`
	StartedAt   string          `json:"startedAt,omitempty"`   // RFC 3339
	CompletedAt string          `json:"completedAt,omitempty"` // RFC 3339
}

// Usage counts tokens; InputTokens excludes cached ones. Cost is absent when unknown, never 0.
type Usage struct {
	InputTokens              int64    `json:"inputTokens"`
	OutputTokens             int64    `json:"outputTokens"`
	DurationMs               int64    `json:"durationMs"`
	CacheReadInputTokens     int64    `json:"cacheReadInputTokens"`
	CacheCreationInputTokens int64    `json:"cacheCreationInputTokens"`
	ReasoningOutputTokens    int64    `json:"reasoningOutputTokens"`
	TotalCostUSD             *float64 `json:"totalCostUsd,omitempty"`
}
