package gateway

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// answer is one response, ready to be written.
type answer struct {
	id, model, text string
	items           []item
	usage           Usage
	deltas          bool
}

// response is the API's response object.
func (a answer) response(status string) map[string]any {
	r := map[string]any{
		"id": a.id, "object": "response", "model": a.model, "status": status, "output": []item{},
	}
	if status == "completed" {
		r["output"] = a.items
		r["usage"] = map[string]any{
			"input_tokens":          a.usage.Input,
			"input_tokens_details":  map[string]any{"cached_tokens": a.usage.Cached},
			"output_tokens":         a.usage.Output,
			"output_tokens_details": map[string]any{"reasoning_tokens": a.usage.Reasoning},
			"total_tokens":          a.usage.Input + a.usage.Output,
		}
	}
	return r
}

// stream writes the whole answer as server-sent events.
func (x *exchange) stream(a answer) {
	x.begin(a)
	for i, it := range a.items {
		if a.deltas && it["type"] == "message" {
			x.deltas(i, it, pieces(a.text))
		}
		x.event("response.output_item.done", map[string]any{"output_index": i, "item": it})
	}
	x.event("response.completed", map[string]any{"response": a.response("completed")})
}

// begin writes the headers and the first event.
func (x *exchange) begin(a answer) {
	x.entry.Status = http.StatusOK
	x.w.Header().Set("Content-Type", "text/event-stream")
	x.w.Header().Set("Cache-Control", "no-store")
	x.w.WriteHeader(http.StatusOK)
	x.event("response.created", map[string]any{"response": a.response("in_progress")})
}

// deltas writes a message piece by piece, up to the event that completes it.
func (x *exchange) deltas(index int, it item, pieces []string) {
	open := item{"type": "message", "id": it["id"], "role": "assistant", "status": "in_progress", "phase": it["phase"], "content": []any{}}
	x.event("response.output_item.added", map[string]any{"output_index": index, "item": open})
	for _, p := range pieces {
		x.event("response.output_text.delta", map[string]any{
			"output_index": index, "content_index": 0, "item_id": it["id"], "delta": p,
		})
	}
}

// event writes and flushes one event. A client that's gone shows at the handler's end.
func (x *exchange) event(kind string, fields map[string]any) {
	fields["type"] = kind
	data, err := json.Marshal(fields)
	if err != nil {
		return // maps, strings and numbers
	}
	fmt.Fprintf(x.w, "event: %s\ndata: %s\n\n", kind, data)
	http.NewResponseController(x.w).Flush()
}

// pieces splits a text after each space, at most 64 times.
func pieces(text string) []string { return strings.SplitAfterN(text, " ", 64) }
