package rollout

import (
	"encoding/json"
	"time"
)

// record is one line, as Codex 0.171 writes it; earlier releases lack Ordinal and Metadata.
type record struct {
	Timestamp time.Time       `json:"timestamp"`
	Ordinal   *int64          `json:"ordinal"`
	Type      string          `json:"type"`
	Payload   json.RawMessage `json:"payload"`
	Metadata  json.RawMessage `json:"metadata"`
}

// Meta is what a session says about itself.
type Meta struct {
	// SessionID is the session's, and its thread's, id.
	SessionID string
	// Originator is the name that the client gave when it initialised Codex.
	Originator string
	// CLIVersion is Codex's release.
	CLIVersion string
	// Subagent marks a session that another session started.
	Subagent bool
}

type metaPayload struct {
	ID         string          `json:"id"`
	Originator string          `json:"originator"`
	CLIVersion string          `json:"cli_version"`
	Source     json.RawMessage `json:"source"`
}

type contextPayload struct {
	TurnID string `json:"turn_id"`
	Model  string `json:"model"`
	Effort string `json:"effort"`
}

type eventPayload struct {
	Type   string `json:"type"`
	TurnID string `json:"turn_id"`

	StartedAt *int64 `json:"started_at"` // task_started: Unix seconds

	Item          json.RawMessage `json:"item"` // item_completed
	StartedAtMs   int64           `json:"started_at_ms"`
	CompletedAtMs int64           `json:"completed_at_ms"`

	LastAgentMessage string        `json:"last_agent_message"` // task_complete
	Error            *errorPayload `json:"error"`
	DurationMs       int64         `json:"duration_ms"` // also turn_aborted
	FirstTokenMs     *int64        `json:"time_to_first_token_ms"`

	Reason string `json:"reason"` // turn_aborted

	Info *struct {
		Total *tokens `json:"total_token_usage"`
	} `json:"info"` // token_count
}

type errorPayload struct {
	Message string          `json:"message"`
	Info    json.RawMessage `json:"codex_error_info"`
}

type itemPayload struct {
	Type      string          `json:"type"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Namespace string          `json:"namespace"`
	Arguments string          `json:"arguments"` // function_call: JSON in a string
	Input     string          `json:"input"`     // custom_tool_call
	Output    json.RawMessage `json:"output"`
	Executed  json.RawMessage `json:"executed_tool_calls"`
	Passed    struct {
		TurnID string `json:"turn_id"`
	} `json:"internal_chat_message_metadata_passthrough"`
}

// completedItem is event_msg/item_completed's item, of any of the kinds that are read.
type completedItem struct {
	Type    string `json:"type"`
	ID      string `json:"id"`
	Kind    string `json:"kind"`  // Extension
	Phase   string `json:"phase"` // AgentMessage
	Content []struct {
		Text string `json:"text"`
	} `json:"content"`

	Server    string          `json:"server"` // McpToolCall
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Result    json.RawMessage `json:"result"`
	Error     json.RawMessage `json:"error"`
	Status    string          `json:"status"`
	Duration  *struct {
		Secs  int64 `json:"secs"`
		Nanos int64 `json:"nanos"`
	} `json:"duration"`

	Command  []string `json:"command"` // CommandExecution
	Output   *string  `json:"aggregated_output"`
	ExitCode *int     `json:"exit_code"`
}

func (i completedItem) text() string {
	var s string
	for _, c := range i.Content {
		s += c.Text
	}
	return s
}

type usagePayload struct {
	TurnID string  `json:"turn_id"`
	Turn   *tokens `json:"turn_token_usage"`
}

// tokens counts as the Responses API does: input includes what came from the cache.
type tokens struct {
	Input      int64 `json:"input_tokens"`
	Cached     int64 `json:"cached_input_tokens"`
	CacheWrite int64 `json:"cache_write_input_tokens"`
	Output     int64 `json:"output_tokens"`
	Reasoning  int64 `json:"reasoning_output_tokens"`
}
