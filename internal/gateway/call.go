package gateway

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// item is one output item of the Responses API.
type item map[string]any

// message is the assistant's text: its final answer, or a remark before a call.
func message(id, text string, remark bool) item {
	phase := "final_answer"
	if remark {
		phase = "commentary"
	}
	return item{
		"type": "message", "id": id, "role": "assistant", "status": "completed", "phase": phase,
		"content": []any{map[string]any{"type": "output_text", "text": text, "annotations": []any{}}},
	}
}

// call makes the step's tool call in the way of the model's kind.
func (s Step) call(kind, id string) (item, error) {
	namespace, name, args := s.target()
	if kind == KindCode {
		js, err := script(namespace, name, args)
		return item{
			"type": "custom_tool_call", "id": id, "call_id": id, "status": "completed",
			"namespace": "functions", "name": "exec", "input": js,
		}, err
	}
	raw, err := json.Marshal(args)
	call := item{
		"type": "function_call", "id": id, "call_id": id, "status": "completed",
		"name": name, "arguments": string(raw),
	}
	if namespace != "" {
		call["namespace"] = namespace
	}
	return call, err
}

const (
	// yieldTime is how long Codex waits for a command before it gives its model what there is so far: its
	// most, for a script can't ask for the rest. By default it's 10 s, which a busy machine may need.
	yieldTime = 30 * time.Second
	// callTime is the same of a code-mode call, which any tool may take long for.
	callTime = 10 * time.Minute
)

// target is the tool that the step calls, as Codex names it; namespace is "" for its own tools.
func (s Step) target() (namespace, name string, args map[string]any) {
	switch {
	case s.MCP != nil:
		namespace, name, args = "mcp__"+toolName(s.MCP.Server), toolName(s.MCP.Tool), s.MCP.Arguments
	case s.Command != nil:
		name, args = "exec_command", map[string]any{"cmd": s.Command.Cmd, "yield_time_ms": yieldTime.Milliseconds()}
	case s.Tool != nil:
		name, args = s.Tool.Name, s.Tool.Arguments
	}
	if args == nil {
		args = map[string]any{}
	}
	return namespace, name, args
}

// script is the JavaScript of a code-mode call. It prints the bare output, so that {{output}} reads
// the same for both kinds of model.
func script(namespace, name string, args map[string]any) (string, error) {
	raw, err := json.Marshal(args)
	if err != nil {
		return "", err
	}
	if namespace != "" {
		name = namespace + "__" + name
	}
	return fmt.Sprintf(`// @exec: {"yield_time_ms": %d}
const r = await tools.%s(%s);
if (Array.isArray(r?.content)) text(r.content.map(c => c.text ?? "").join("\n"));
else text(r?.output ?? r);
`, callTime.Milliseconds(), name, raw), nil
}

// toolName is a label or a tool's name as Codex writes it in a tool's name.
func toolName(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 128 && (r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') {
			return r
		}
		return '_'
	}, s)
}

// callName is the step's call in the log.
func (s Step) callName() string {
	switch {
	case s.MCP != nil:
		return "mcp " + s.MCP.Server + "." + s.MCP.Tool
	case s.Command != nil:
		return "command"
	case s.Tool != nil:
		return "tool " + s.Tool.Name
	}
	return ""
}
