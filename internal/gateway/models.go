package gateway

import (
	"maps"
	"net/http"
	"slices"
)

// models answers GET /v1/models. Codex asks with its version, and logs an error unless it gets its
// own shape; that replaces what Codex knows about a model, so it lists those of Script.Kinds only.
// Everybody else gets OpenAI's list.
func (g *Gateway) models(x *exchange) {
	if f, ok := g.scriptFault("models", ""); ok {
		g.inject(x, f, answer{})
		return
	}
	if x.r.URL.Query().Has("client_version") {
		list := []any{}
		for _, id := range slices.Sorted(maps.Keys(g.script.Kinds)) {
			list = append(list, codexModel(id, g.script.Kinds[id]))
		}
		x.json(http.StatusOK, map[string]any{"models": list})
		return
	}
	list := make([]map[string]any, 0, len(g.script.Models))
	for _, id := range g.script.Models {
		list = append(list, map[string]any{"id": id, "object": "model", "created": 0, "owned_by": "berth"})
	}
	x.json(http.StatusOK, map[string]any{"object": "list", "data": list})
}

// codexModel is a model in Codex's shape (`codex debug models`), with the least that 0.171 decodes.
func codexModel(id, kind string) map[string]any {
	efforts := []any{}
	for _, e := range []string{"low", "medium", "high", "xhigh"} {
		efforts = append(efforts, map[string]any{"effort": e, "description": e})
	}
	m := map[string]any{
		"slug": id, "display_name": id, "description": "scripted", "priority": 1,
		"visibility": "list", "supported_in_api": true,
		"default_reasoning_level": "medium", "supported_reasoning_levels": efforts,
		"shell_type": "unified_exec", "base_instructions": "You are scripted.",
		"supports_reasoning_summaries": false, "support_verbosity": false,
		"supports_parallel_tool_calls": true, "experimental_supported_tools": []any{},
		"truncation_policy": map[string]any{"mode": "tokens", "limit": 10000},
		"context_window":    272000,
	}
	if kind == KindCode {
		m["tool_mode"], m["use_responses_lite"] = "code_mode_only", true
	}
	return m
}
