package gateway

// Script is what a gateway answers. docs/gateway-script.md explains it with examples.
type Script struct {
	// Models are the ids that /v1/models lists; a request for another one is answered all the same.
	Models []string `json:"models"`
	// Kinds tells Codex what kind of model an id is, "classic" or "code", instead of what Codex knows
	// by itself: an id that it doesn't know is classic.
	Kinds map[string]string `json:"kinds"`
	// Usage is what a step without its own reports.
	Usage Usage `json:"usage"`
	// Deltas sends text in pieces, as a model does; on by default.
	Deltas *bool `json:"deltas"`
	// Token says how the accepted token changes.
	Token Rotation `json:"token"`
	// Faults are met by requests before any rule is looked for.
	Faults []Fault `json:"faults"`
	// Rules are tried in order; the first that matches answers.
	Rules []Rule `json:"rules"`
}

// Rotation replaces the accepted token by a new one, at once and without grace.
type Rotation struct {
	// RotateEvery is after how many answered /v1/responses requests; 0 is never.
	RotateEvery int `json:"rotateEvery"`
}

// Rule answers the prompts that it matches, in steps.
type Rule struct {
	// Name is for the log; the default is "rule N", counted from 1.
	Name  string `json:"name"`
	Match Match  `json:"match"`
	// Steps are one response each. All but the last call a tool; the last one is text.
	Steps  []Step  `json:"steps"`
	Faults []Fault `json:"faults"`
}

// Match holds conditions that all have to be met; one without any matches everything.
type Match struct {
	// Exact, Contains and Regex (RE2) are about the text of the turn's prompt.
	Exact    *string `json:"exact"`
	Contains string  `json:"contains"`
	Regex    string  `json:"regex"`
	// Model is an id or a pattern as path.Match has them: "gpt-6-*".
	Model string `json:"model"`
}

// Step is one response: text, a call of one tool, or both (the text is then a remark on the way).
type Step struct {
	// Text is a template over {{output}}, {{prompt}} and {{model}}.
	Text    string   `json:"text"`
	MCP     *MCPCall `json:"mcp"`
	Command *Command `json:"command"`
	Tool    *Tool    `json:"tool"`
	Usage   *Usage   `json:"usage"`
	Deltas  *bool    `json:"deltas"`
	// DelayMs is waited before the answer's first byte.
	DelayMs int `json:"delayMs"`
}

// MCPCall calls a tool of an MCP server, whatever way the model has to do that.
type MCPCall struct {
	// Server is the label in the eval config.
	Server    string         `json:"server"`
	Tool      string         `json:"tool"`
	Arguments map[string]any `json:"arguments"`
}

// Command runs a shell command in the shard.
type Command struct {
	Cmd string `json:"cmd"`
}

// Tool calls one of the client's own tools by name, with its arguments.
type Tool struct {
	Name      string         `json:"name"`
	Arguments map[string]any `json:"arguments"`
}

// Usage is the token count of one response. Input includes Cached, and Output Reasoning.
type Usage struct {
	Input     int64 `json:"input"`
	Cached    int64 `json:"cached"`
	Output    int64 `json:"output"`
	Reasoning int64 `json:"reasoning"`
}

// Stall places.
const (
	StallBefore = "before" // no answer at all
	StallStream = "stream" // the answer begins and never ends
)

// Fault replaces an answer. Exactly one of Status, Stall and Cut is set.
type Fault struct {
	// Path limits a fault of the script itself to "models" or "responses".
	Path string `json:"path"`
	// Step limits a rule's fault to one step, counted from 1.
	Step int `json:"step"`
	// Times is how often a turn (for models: the gateway) meets it before answers are right again; 0 is always.
	Times int `json:"times"`
	// Status is an HTTP status from 400 to 599.
	Status int `json:"status"`
	// RetryAfter is the header of that name, in seconds.
	RetryAfter int    `json:"retryAfter"`
	Message    string `json:"message"`
	// Stall holds the answer until the client gives up: "before" or "stream".
	Stall string `json:"stall"`
	// Cut breaks the connection in the middle of the answer.
	Cut bool `json:"cut"`
}

// calls tells whether the step calls a tool.
func (s Step) calls() bool { return s.MCP != nil || s.Command != nil || s.Tool != nil }
