// Package mcptest is a real MCP server for tests: a few deterministic tools, and faults by request.
// A test binary becomes that server by calling Main first thing in its TestMain.
package mcptest

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Environment variables that turn a test binary into the server. See Main.
const (
	EnvTools = "BERTH_MCPTEST_TOOLS"
	EnvFault = "BERTH_MCPTEST_FAULT"
	// EnvSecret is a text that FaultExit writes to stderr.
	EnvSecret = "BERTH_MCPTEST_SECRET"
)

// Faults.
const (
	// FaultHang never answers.
	FaultHang = "hang"
	// FaultExit ends at once with exit code 3, after a line on stderr.
	FaultExit = "exit"
)

// Main serves on stdio and exits, when EnvTools is set; otherwise it returns at once.
func Main() {
	n, err := strconv.Atoi(os.Getenv(EnvTools))
	if err != nil {
		return
	}
	switch os.Getenv(EnvFault) {
	case FaultHang:
		time.Sleep(time.Hour)
	case FaultExit:
		fmt.Fprintln(os.Stderr, "mcptest: told to fail with "+os.Getenv(EnvSecret))
		os.Exit(3)
	}
	if err := NewServer(n).Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

type pair struct {
	A int `json:"a"`
	B int `json:"b"`
}

type sum struct {
	Sum int `json:"sum"`
}

// NewServer makes a server with n tools: "add" (a+b as {"sum"}), then "tool1", "tool2" and so on.
func NewServer(n int) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "mcptest", Version: "1"}, nil)
	add := func(_ context.Context, _ *mcp.CallToolRequest, in pair) (*mcp.CallToolResult, sum, error) {
		return nil, sum{Sum: in.A + in.B}, nil
	}
	for i := range n {
		name := "add"
		if i > 0 {
			name = "tool" + strconv.Itoa(i)
		}
		mcp.AddTool(s, &mcp.Tool{Name: name, Description: "adds two numbers"}, add)
	}
	return s
}
