package engine

import "maps"

// refusals are the answers by which the app server's questions are declined. The approval policy is
// "never", so none should come; a method that isn't here gets an error.
var refusals = map[string]any{
	"item/commandExecution/requestApproval": map[string]any{"decision": "decline"},
	"item/fileChange/requestApproval":       map[string]any{"decision": "decline"},
	"execCommandApproval":                   map[string]any{"decision": "abort"},
	"applyPatchApproval":                    map[string]any{"decision": "abort"},
	"mcpServer/elicitation/request":         map[string]any{"action": "decline"},
	"item/tool/requestUserInput":            map[string]any{"answers": map[string]any{}},
}

// refuse answers a request of the app server with a refusal, and counts it.
func (c *rpc) refuse(m message) {
	c.mu.Lock()
	c.refused[m.Method]++
	c.mu.Unlock()
	if c.Silent {
		return
	}
	answer := map[string]any{"id": m.ID}
	if r, ok := refusals[m.Method]; ok {
		answer["result"] = r
	} else {
		answer["error"] = RPCError{Code: -32601, Message: "not supported by this client"}
	}
	// A failed write means that the app is gone, which is noticed by its end. It mustn't hold up the
	// reader either.
	go func() { _ = c.send(answer) }()
}

// refusedRequests counts the refused requests by method.
func (c *rpc) refusedRequests() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.refused)
}
