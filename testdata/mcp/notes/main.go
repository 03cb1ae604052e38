// Command notes is the sample eval's MCP server: a small runbook collection over stdio, with the
// tools search, get and add. What it answers depends on its calls alone, so an eval against it can
// assert on words. It keeps added notes for its own life only.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	if err := newServer(newStore()).Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, "notes:", err)
		os.Exit(1)
	}
}

type searchInput struct {
	Query string `json:"query" jsonschema:"words that all have to be in a note"`
}

type getInput struct {
	ID string `json:"id" jsonschema:"a note's id, such as RB-17"`
}

type addInput struct {
	Title string `json:"title" jsonschema:"one line"`
	Text  string `json:"text" jsonschema:"what the note says"`
}

// newServer offers s as tools. A failed call is a tool error, which the model sees and can act on.
func newServer(s *store) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "notes", Version: "1.0.0"}, nil)
	readOnly := &mcp.ToolAnnotations{ReadOnlyHint: true}
	mcp.AddTool(server, &mcp.Tool{Name: "search", Description: "Find notes by words; gives ids and titles.", Annotations: readOnly},
		func(_ context.Context, _ *mcp.CallToolRequest, in searchInput) (*mcp.CallToolResult, any, error) {
			return text(s.search(in.Query)), nil, nil
		})
	mcp.AddTool(server, &mcp.Tool{Name: "get", Description: "Read one note by its id.", Annotations: readOnly},
		func(_ context.Context, _ *mcp.CallToolRequest, in getInput) (*mcp.CallToolResult, any, error) {
			out, err := s.get(in.ID)
			return text(out), nil, err
		})
	mcp.AddTool(server, &mcp.Tool{Name: "add", Description: "Write a new note; gives its id."},
		func(_ context.Context, _ *mcp.CallToolRequest, in addInput) (*mcp.CallToolResult, any, error) {
			out, err := s.add(in.Title, in.Text)
			return text(out), nil, err
		})
	return server
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}
