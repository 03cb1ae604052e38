package rollout

import (
	"encoding/json"
	"time"
)

func (p *parser) takeMeta(r record) error {
	// A forked session repeats its parent's meta after its own.
	if p.meta.SessionID != "" {
		return nil
	}
	var m metaPayload
	if err := json.Unmarshal(r.Payload, &m); err != nil {
		return err
	}
	var source map[string]json.RawMessage
	_ = json.Unmarshal(m.Source, &source) // a plain name unless another session started this one
	_, sub := source["subagent"]
	p.meta = Meta{SessionID: m.ID, Originator: m.Originator, CLIVersion: m.CLIVersion, Subagent: sub}
	return nil
}

func (p *parser) takeContext(r record) error {
	var c contextPayload
	if err := json.Unmarshal(r.Payload, &c); err != nil {
		return err
	}
	t := p.turn(c.TurnID)
	t.Model, t.Effort = c.Model, c.Effort
	return nil
}

func (p *parser) takeUsage(r record) error {
	var u usagePayload
	if err := json.Unmarshal(r.Payload, &u); err != nil {
		return err
	}
	if u.Turn != nil {
		t := p.turn(u.TurnID)
		t.usage, t.counted = u.Turn, true
	}
	return nil
}

func (p *parser) takeEvent(r record) error {
	var e eventPayload
	if err := json.Unmarshal(r.Payload, &e); err != nil {
		return err
	}
	switch e.Type {
	case "task_started":
		p.turn(e.TurnID).start(r, e)
	case "item_completed":
		var i completedItem
		if err := json.Unmarshal(e.Item, &i); err != nil {
			return err
		}
		p.turn(e.TurnID).complete(i, e)
	case "task_complete":
		p.turn(e.TurnID).end(e)
	case "turn_aborted":
		t := p.turn(e.TurnID)
		t.Status, t.AbortReason, t.Duration = Aborted, e.Reason, millis(e.DurationMs)
	case "token_count":
		if t := p.turn(""); !t.counted && e.Info != nil && e.Info.Total != nil {
			t.usage = e.Info.Total
		}
	}
	return nil
}

func (t *Turn) start(r record, e eventPayload) {
	t.StartedAt = r.Timestamp
	if e.StartedAt != nil {
		t.StartedAt = time.Unix(*e.StartedAt, 0).UTC()
	}
}

func (t *Turn) complete(i completedItem, e eventPayload) {
	switch i.Type {
	case "UserMessage":
		if !t.HasPrompt {
			t.Prompt, t.HasPrompt = i.text(), true
		}
	case "AgentMessage":
		t.takeMessage(i)
	case "McpToolCall", "CommandExecution", "Extension":
		t.calls.complete(i, e)
	}
}

func (t *Turn) end(e eventPayload) {
	t.Status, t.Duration = Completed, millis(e.DurationMs)
	t.last = e.LastAgentMessage
	if e.FirstTokenMs != nil {
		t.FirstToken = millis(*e.FirstTokenMs)
	}
	if e.Error != nil {
		t.Failure = e.Error.failure()
	}
}

func (p *parser) takeItem(r record) error {
	var i itemPayload
	if err := json.Unmarshal(r.Payload, &i); err != nil {
		return err
	}
	// Before the first turn there's only what Codex told the model about itself.
	if i.Passed.TurnID == "" && len(p.turns) == 0 {
		return nil
	}
	t := p.turn(i.Passed.TurnID)
	switch i.Type {
	case "function_call":
		t.calls.function(i, r.Timestamp)
	case "custom_tool_call":
		t.calls.custom(i, r.Timestamp)
	case "function_call_output", "custom_tool_call_output":
		t.InferredCalls = t.calls.output(i, r) || t.InferredCalls
	}
	return nil
}

func millis(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
