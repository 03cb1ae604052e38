package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

// Kinds of model, by the way they're given tools.
const (
	KindClassic = "classic" // function tools
	KindCode    = "code"    // one tool that runs JavaScript, which calls the others
)

// conversation is what a script may look at in a request: where its turn stands. It's read from the
// request alone, so a retry, or a second gateway, gives the same answer.
type conversation struct {
	Model  string
	Kind   string
	Effort string
	Prompt string
	// Outputs are what the turn's tool calls gave so far, in order.
	Outputs []string
	// Calls is how many tools the turn has called: the step that it's at, counted from 0.
	Calls  int
	Stream bool
	TurnID string
}

// createRequest is the part of a Responses request that matters here.
type createRequest struct {
	Model     string            `json:"model"`
	Stream    bool              `json:"stream"`
	Input     json.RawMessage   `json:"input"`
	Metadata  map[string]string `json:"client_metadata"`
	CacheKey  string            `json:"prompt_cache_key"`
	Reasoning struct {
		Effort string `json:"effort"`
	} `json:"reasoning"`
}

type inputItem struct {
	Type    string          `json:"type"`
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	Output  json.RawMessage `json:"output"`
}

// readConversation decodes a request to /v1/responses.
func readConversation(r *http.Request) (conversation, error) {
	var req createRequest
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		return conversation{}, fmt.Errorf("the body is not a Responses request: %w", err)
	}
	items, err := inputItems(req.Input)
	if err != nil {
		return conversation{}, err
	}
	c := conversation{
		Model: req.Model, Kind: KindClassic, Effort: req.Reasoning.Effort, Stream: req.Stream,
		TurnID: turnID(r.Header, req),
	}
	for _, it := range items {
		c.add(it)
	}
	return c, nil
}

// inputItems takes the list and the bare string that the API allows.
func inputItems(raw json.RawMessage) ([]inputItem, error) {
	var items []inputItem
	if err := json.Unmarshal(raw, &items); err == nil {
		return items, nil
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return nil, errors.New("input is neither a list nor a text")
	}
	content, err := json.Marshal(text)
	return []inputItem{{Type: "message", Role: "user", Content: content}}, err
}

// add moves the conversation on by one item.
func (c *conversation) add(it inputItem) {
	switch it.Type {
	case "additional_tools": // how Codex gives tools to a code-mode model, and to no other
		c.Kind = KindCode
	case "message", "":
		if text := itemText(it.Content); it.Role == "user" && !isContext(text) {
			c.Prompt, c.Outputs, c.Calls = text, nil, 0
		}
	case "function_call", "custom_tool_call":
		c.Calls++
	case "function_call_output", "custom_tool_call_output":
		c.Outputs = append(c.Outputs, toolOutput(itemText(it.Output)))
	}
}

// contextTags open the messages that Codex writes under the user's role by itself.
var contextTags = []string{
	"<environment_context>", "<user_instructions>", "<turn_aborted>", "<skill>",
	"<subagent_notification>", "# AGENTS.md instructions",
}

func isContext(text string) bool {
	for _, tag := range contextTags {
		if strings.HasPrefix(text, tag) {
			return true
		}
	}
	return false
}

// itemText joins the text of a content list, or takes a bare string.
func itemText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return ""
	}
	texts := make([]string, 0, len(parts))
	for _, p := range parts {
		texts = append(texts, p.Text)
	}
	return strings.Join(texts, "\n")
}

// heading is what Codex 0.171 puts above a tool's own output.
var heading = regexp.MustCompile(`^(?:(?:Chunk ID|Wall time|Process |Original token count|Script )[^\n]*\n)+Output:\n`)

// toolOutput is the tool's own output, so that it reads the same for both kinds of model.
func toolOutput(text string) string {
	return strings.TrimSpace(strings.TrimPrefix(text, heading.FindString(text)))
}

// turnID is the best name that a request has for its turn.
func turnID(h http.Header, req createRequest) string {
	var meta struct {
		TurnID string `json:"turn_id"`
	}
	_ = json.Unmarshal([]byte(h.Get("X-Codex-Turn-Metadata")), &meta) // absent or other: stays ""
	for _, id := range []string{meta.TurnID, req.Metadata["turn_id"], h.Get("Thread-Id"), req.CacheKey} {
		if id != "" {
			return id
		}
	}
	return ""
}
