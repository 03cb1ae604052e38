package rollout

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"time"

	"github.com/berth-run/berth/internal/trace"
)

// script is one `exec` of a code-mode model: JavaScript that may call MCP tools by itself. Only the
// code's length, its hash and the tools that it names are kept.
type script struct {
	named []string
	// accounted: the harness told of an MCP call while the script ran.
	accounted bool
}

var toolPattern = regexp.MustCompile(`\btools(?:\.|\[["'` + "`" + `])(mcp__[A-Za-z0-9_]+)`)

// custom takes the model's call of a custom tool: the script tool, or one whose input is plain text.
func (c *calls) custom(i itemPayload, at time.Time) {
	e := c.named(i.Namespace, i.Name)
	e.ID, e.StartedAt, e.Arguments = i.CallID, stamp(at), quote(i.Input)
	if i.Name == "exec" {
		sum := sha256.Sum256([]byte(i.Input))
		e.Arguments, _ = json.Marshal(map[string]any{
			"codeLength": len(i.Input), "codeSha256": hex.EncodeToString(sum[:]),
		}) // always marshals
		s := &script{}
		for _, m := range toolPattern.FindAllStringSubmatch(i.Input, -1) {
			s.named = append(s.named, m[1])
		}
		c.scripts[i.CallID] = s
	}
	c.add(e)
}

// noteScripted marks every running script: an account doesn't say which one made the call.
func (c *calls) noteScripted() {
	for _, s := range c.scripts {
		s.accounted = true
	}
}

// finish adds the MCP calls of a script that nothing else tells of (contract §4.5), without times. Codex
// 0.171 gives an account of each call and says with the output whose results it holds (the record's
// metadata), so there a name in the code that was never called isn't taken for a call.
func (c *calls) finish(s *script, i itemPayload, r record) (inferred bool) {
	if s.accounted {
		return false
	}
	if isSet(i.Executed) {
		for _, name := range executedNames(i.Executed) {
			c.addNamed(name)
		}
		return false
	}
	if isSet(r.Metadata) {
		return false
	}
	seen := map[string]bool{}
	for _, name := range s.named {
		if !seen[name] {
			seen[name] = true
			inferred = c.addNamed(name) || inferred
		}
	}
	return inferred
}

func (c *calls) addNamed(raw string) bool {
	server, tool, ok := c.labels.split(raw)
	if ok {
		c.add(trace.Event{Kind: trace.KindToolCall, Source: trace.SourceMCP, Server: server, Name: tool, RawName: raw})
	}
	return ok
}

// executedNames reads a list of names, or of objects that have one.
func executedNames(raw json.RawMessage) []string {
	var names []string
	if json.Unmarshal(raw, &names) == nil {
		return names
	}
	var objects []struct {
		Name string `json:"name"`
	}
	_ = json.Unmarshal(raw, &objects) // any other shape names nothing
	names = nil
	for _, o := range objects {
		names = append(names, o.Name)
	}
	return names
}
