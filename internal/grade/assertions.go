package grade

import "encoding/json"

// Assertions is what a case asserts of each trial; every one that is set must hold.
type Assertions struct {
	// ContainsText are substrings of the final text, case-sensitive.
	ContainsText []string
	// MatchesPattern are regular expressions that the final text matches.
	MatchesPattern []Pattern
	ToolsTriggered *ToolsTriggered
	ToolCallCount  *ToolCallCount
}

// Order of the expected calls.
const (
	OrderAny    = "any"
	OrderStrict = "strict"
)

// ToolsTriggered says which tools a trial calls.
type ToolsTriggered struct {
	Calls []ExpectedCall
	// Order is OrderAny (also "") or OrderStrict: the calls appear in this sequence, others between
	// them allowed.
	Order string
	// Exclusive forbids every event that no entry of Calls names.
	Exclusive bool
}

// ExpectedCall is one call. Kind, Source and Server narrow it when set.
type ExpectedCall struct {
	// Name is the tool's, bare or qualified by its server's label ("wiki.search"), or a key of the
	// variant's tool map.
	Name   string
	Kind   string
	Source string
	Server string
	// Arguments is a JSON object that the call's arguments contain, member by member.
	Arguments json.RawMessage
	// Optional calls may be absent; they only place themselves in a strict order and are allowed by
	// Exclusive.
	Optional bool
}

// ToolCallCount bounds the number of tool calls; nil fields don't.
type ToolCallCount struct {
	Min, Max, Exact *int
}

// Graders, as the score files name them.
const (
	GraderContainsText   = "containsText"
	GraderMatchesPattern = "matchesPattern"
	GraderToolsTriggered = "toolsTriggered"
	GraderToolCallCount  = "toolCallCount"
)

// ToolMap gives, for a name that a dataset uses, the names its tool has in one variant.
type ToolMap map[string][]string
