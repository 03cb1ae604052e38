package rollout

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"github.com/berth-run/berth/internal/trace"
)

// calls gathers a turn's tool calls. One call is told of by up to three records: the model's request,
// the harness's account of what it did (with its times), and the output that the model got.
type calls struct {
	labels  labels
	list    []*call
	byID    map[string]*call
	scripts map[string]*script
}

type call struct {
	event trace.Event
	// accounted: the harness's own account came, which tells more than the model's output.
	accounted bool
}

func newCalls(l labels) *calls {
	return &calls{labels: l, byID: map[string]*call{}, scripts: map[string]*script{}}
}

func (c *calls) events() []trace.Event {
	events := make([]trace.Event, len(c.list))
	for i, call := range c.list {
		events[i] = call.event
	}
	return events
}

func (c *calls) add(e trace.Event) *call {
	n := &call{event: e}
	c.list = append(c.list, n)
	if e.ID != "" {
		c.byID[e.ID] = n
	}
	return n
}

// function takes the model's call of a function tool.
func (c *calls) function(i itemPayload, at time.Time) {
	e := c.named(i.Namespace, i.Name)
	e.ID, e.StartedAt = i.CallID, stamp(at)
	e.Arguments = rawOrString(i.Arguments)
	c.add(e)
}

// named tells what kind of call a tool's name stands for.
func (c *calls) named(namespace, name string) trace.Event {
	if strings.HasPrefix(namespace, Prefix) {
		return trace.Event{
			Kind: trace.KindToolCall, Source: trace.SourceMCP,
			Server: c.labels.of(namespace), Name: name, RawName: namespace + "__" + name,
		}
	}
	if server, tool, ok := c.labels.split(name); ok && namespace == "" {
		return trace.Event{Kind: trace.KindToolCall, Source: trace.SourceMCP, Server: server, Name: tool, RawName: name}
	}
	e := trace.Event{Kind: builtinKind(name), Source: trace.SourceBuiltin, Name: name}
	if namespace != "" {
		e.RawName = namespace + "." + name
	}
	return e
}

func builtinKind(name string) string {
	switch name {
	case "exec_command", "shell", "shell_command", "local_shell":
		return trace.KindCommand
	case "spawn_agent":
		return trace.KindSubagent
	case "tool_search":
		return trace.KindToolSearch
	}
	return trace.KindToolCall
}

// complete takes the harness's account of a call. One that no request asked for was made by a script.
func (c *calls) complete(i completedItem, e eventPayload) {
	if i.Type == "Extension" && i.Kind != "web.search" {
		return
	}
	n := c.byID[i.ID]
	if n == nil {
		n = c.add(c.accountOf(i))
	}
	n.accounted = true
	n.account(i)
	n.event.StartedAt, n.event.CompletedAt = stampMs(e.StartedAtMs), stampMs(e.CompletedAtMs)
	if i.Duration != nil {
		n.setDuration(time.Duration(i.Duration.Secs)*time.Second + time.Duration(i.Duration.Nanos))
	} else if e.StartedAtMs > 0 && e.CompletedAtMs >= e.StartedAtMs {
		n.setDuration(millis(e.CompletedAtMs - e.StartedAtMs))
	}
	if i.Type == "McpToolCall" {
		c.noteScripted()
	}
}

// accountOf is the event of a call that only the harness told of.
func (c *calls) accountOf(i completedItem) trace.Event {
	e := trace.Event{ID: i.ID, Source: trace.SourceBuiltin}
	switch i.Type {
	case "McpToolCall":
		e.Kind, e.Source = trace.KindToolCall, trace.SourceMCP
		e.Server, e.Name, e.RawName = i.Server, i.Tool, Namespace(i.Server)+"__"+i.Tool
		e.Arguments = i.Arguments
	case "CommandExecution":
		e.Kind, e.Name = trace.KindCommand, "exec_command"
		e.Arguments, _ = json.Marshal(map[string]any{"command": i.Command}) // strings always marshal
	default:
		e.Kind, e.Name, e.RawName = trace.KindToolCall, "web_search", i.Kind
	}
	return e
}

// account sets what only the harness knows: the exact server, and the whole result.
func (n *call) account(i completedItem) {
	switch i.Type {
	case "McpToolCall":
		n.event.Server = i.Server
		n.event.IsError = i.Status == "failed" || isSet(i.Error)
		n.event.Output = i.Result
		if !isSet(i.Result) {
			n.event.Output = i.Error
		}
	case "CommandExecution":
		n.event.IsError = i.Status != "completed" || (i.ExitCode != nil && *i.ExitCode != 0)
		if i.Output != nil {
			n.event.Output = quote(*i.Output)
		}
	}
}

func (n *call) setDuration(d time.Duration) {
	ms := d.Milliseconds()
	n.event.DurationMs = &ms
}

// output takes what the model got back, and tells whether calls had to be inferred from a script.
func (c *calls) output(i itemPayload, r record) (inferred bool) {
	n := c.byID[i.CallID]
	if n == nil {
		return false
	}
	if !n.accounted {
		n.event.Output = i.Output
		n.event.CompletedAt = stamp(r.Timestamp)
		n.event.IsError = bytes.HasPrefix(i.Output, []byte(`"unsupported call: `))
	}
	if s := c.scripts[i.CallID]; s != nil {
		delete(c.scripts, i.CallID)
		return c.finish(s, i, r)
	}
	return false
}

func isSet(m json.RawMessage) bool { return len(m) > 0 && string(m) != "null" }

// rawOrString keeps JSON as it is; what a model wrote that is no JSON becomes a string.
func rawOrString(s string) json.RawMessage {
	if s != "" && json.Valid([]byte(s)) {
		return json.RawMessage(s)
	}
	return quote(s)
}

func quote(s string) json.RawMessage {
	b, _ := json.Marshal(s) // a string always marshals
	return b
}

const stampFormat = "2006-01-02T15:04:05.000Z"

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(stampFormat)
}

func stampMs(ms int64) string {
	if ms <= 0 {
		return ""
	}
	return stamp(time.UnixMilli(ms))
}
