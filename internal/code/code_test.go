package code

import (
	"errors"
	"fmt"
	"testing"
)

// However often an error passes a place that gives it a code, the code is in front once.
func TestCodeOnce(t *testing.T) {
	inner := Errorf(MCPPreflightFailed, "MCP server wiki: no tools")
	for name, tc := range map[string]struct {
		err          error
		text, detail string
	}{
		"plain":        {errors.New("gone"), "gone", "gone"},
		"coded":        {inner, "mcp_preflight_failed: MCP server wiki: no tools", "MCP server wiki: no tools"},
		"coded twice":  {Errorf(MCPPreflightFailed, "%w", inner), "mcp_preflight_failed: MCP server wiki: no tools", "MCP server wiki: no tools"},
		"another code": {Errorf(ShardLost, "%w", inner), "shard_lost: mcp_preflight_failed: MCP server wiki: no tools", "mcp_preflight_failed: MCP server wiki: no tools"},
		"within":       {fmt.Errorf("batch 0: %w", inner), "batch 0: mcp_preflight_failed: MCP server wiki: no tools", "batch 0: mcp_preflight_failed: MCP server wiki: no tools"},
		"joined":       {errors.Join(inner, errors.New("left")), "mcp_preflight_failed: MCP server wiki: no tools\nleft", "MCP server wiki: no tools\nleft"},
		"bare":         {Errorf(Cancelled, "%w", &Error{Code: Cancelled}), "cancelled", "cancelled"},
		"a word only":  {Errorf(Missing, "missing files"), "missing: missing files", "missing files"},
	} {
		if tc.err.Error() != tc.text || Detail(tc.err) != tc.detail {
			t.Errorf("%s: %q with detail %q, want %q with %q", name, tc.err, Detail(tc.err), tc.text, tc.detail)
		}
	}
}
