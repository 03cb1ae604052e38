package gateway

import "net/http"

// models answers GET /v1/models. Codex asks with its version, and logs an error unless it gets its
// own shape; an empty list of that leaves it with the facts that it knows about its models, and so
// with their kinds. Everybody else gets OpenAI's list.
func (g *Gateway) models(x *exchange) {
	if f, ok := g.scriptFault("models", ""); ok {
		g.inject(x, f, answer{})
		return
	}
	if x.r.URL.Query().Has("client_version") {
		x.json(http.StatusOK, map[string]any{"models": []any{}})
		return
	}
	list := make([]map[string]any, 0, len(g.script.Models))
	for _, id := range g.script.Models {
		list = append(list, map[string]any{"id": id, "object": "model", "created": 0, "owned_by": "berth"})
	}
	x.json(http.StatusOK, map[string]any{"object": "list", "data": list})
}
