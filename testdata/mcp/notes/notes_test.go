package main

import (
	"context"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// connect speaks to the real server over the SDK's in-memory transport.
func connect(t *testing.T) *mcp.ClientSession {
	t.Helper()
	ctx := t.Context()
	here, there := mcp.NewInMemoryTransports()
	server, err := newServer(newStore()).Connect(ctx, there, nil)
	if err != nil {
		t.Fatal(err)
	}
	client, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(ctx, here, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); server.Wait() })
	return client
}

func call(t *testing.T, c *mcp.ClientSession, tool string, args map[string]any) (string, bool) {
	t.Helper()
	r, err := c.CallTool(context.Background(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	return r.Content[0].(*mcp.TextContent).Text, r.IsError
}

func TestTools(t *testing.T) {
	c := connect(t)
	steps := []struct {
		tool    string
		args    map[string]any
		want    string
		isError bool
	}{
		{"search", map[string]any{"query": "full disk"}, "RB-17: Full disk on the log hosts", false},
		{"search", map[string]any{"query": "DATABASE"}, "RB-13: Clock drift between hosts\nRB-16: Backup older than a day", false},
		{"search", map[string]any{"query": "disk certificate"}, "no note has all of these words", false},
		{"search", map[string]any{"query": ""}, "no note has all of these words", false},
		{"get", map[string]any{"id": "rb-15"}, "Section 1: rate-limit at the proxy. Section 2: tell the security desk.", false},
		{"get", map[string]any{"id": "RB-18"}, "no such note: RB-18", true},
		{"add", map[string]any{"title": "Fan noise", "text": "Clean it."}, "RB-18", false},
		{"get", map[string]any{"id": "RB-18"}, "Clean it.", false},
		{"add", map[string]any{"title": "", "text": "x"}, "a note needs a title and a text", true},
	}
	for _, s := range steps {
		got, isError := call(t, c, s.tool, s.args)
		if got != s.want || isError != s.isError {
			t.Errorf("%s(%v) = %q, error %v; want %q, %v", s.tool, s.args, got, isError, s.want, s.isError)
		}
	}
}

func TestListsThreeTools(t *testing.T) {
	r, err := connect(t).ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range r.Tools {
		names = append(names, tool.Name)
	}
	if len(names) != 3 {
		t.Errorf("tools = %v, want add, get and search", names)
	}
}
