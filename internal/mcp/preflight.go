// Package mcp checks MCP servers before an app under test gets them: each must answer and list its
// tools. It's a client for that one question; it calls no tool, and what the app does with a server is
// the app's business.
package mcp

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sync/errgroup"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/redact"
	"github.com/berth-run/berth/internal/version"
	"github.com/berth-run/berth/session/client"
)

// Timeout is how long a server has to start, answer and list its tools (contract §3.3).
const Timeout = 30 * time.Second

// Statuses of a server.
const (
	StatusReady  = "ready"
	StatusFailed = "failed"
)

// maxTools bounds a server's list; minTools goes up to 10000.
const maxTools = 10_000

// parallel is how many servers are asked at a time.
const parallel = 4

// Options are what a preflight needs besides the servers.
type Options struct {
	// Env is the environment that a stdio server gets besides its own; Dir is where it starts if it
	// names no cwd.
	Env []string
	Dir string
	// Redact is applied to every error, with the servers' tokens added.
	Redact *redact.Set
	// Timeout replaces the package's, for tests; 0 keeps it.
	Timeout time.Duration
}

// Preflight asks every server and gives their statuses in the servers' order. If one failed, the error
// has code.MCPPreflightFailed and names it; the statuses are complete all the same.
func Preflight(ctx context.Context, servers []client.Server, o Options) ([]client.ServerStatus, error) {
	if o.Redact == nil {
		o.Redact = &redact.Set{}
	}
	if o.Timeout == 0 {
		o.Timeout = Timeout
	}
	for _, s := range servers {
		o.Redact.Add(s.Token)
	}
	statuses := make([]client.ServerStatus, len(servers))
	var g errgroup.Group
	g.SetLimit(parallel)
	for i, s := range servers {
		g.Go(func() error {
			statuses[i] = o.ask(ctx, s)
			return nil
		})
	}
	_ = g.Wait() // failures are in the statuses
	return statuses, failed(statuses)
}

func failed(statuses []client.ServerStatus) error {
	var causes []string
	for _, s := range statuses {
		if s.Status != StatusReady {
			causes = append(causes, fmt.Sprintf("MCP server %s: %s", s.Label, s.Error))
		}
	}
	if causes == nil {
		return nil
	}
	return code.Errorf(code.MCPPreflightFailed, "%s", strings.Join(causes, "; "))
}

// ask does one server's preflight, the end of a stdio server included.
func (o Options) ask(ctx context.Context, s client.Server) client.ServerStatus {
	start := time.Now()
	status := client.ServerStatus{Label: s.Label, Status: StatusFailed}
	n, err := o.countTools(ctx, s)
	status.ToolCount, status.ElapsedMs = n, time.Since(start).Milliseconds()
	switch least := max(1, s.MinTools); {
	case err != nil:
		status.Error = code.Line(o.Redact.String(withoutURL(err.Error(), s.URL)))
	case n < least:
		status.Error = fmt.Sprintf("too few tools (%d < %d)", n, least)
	default:
		status.Status = StatusReady
	}
	return status
}

func (o Options) countTools(ctx context.Context, s client.Server) (n int, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, o.Timeout, fmt.Errorf("no list of tools within %v", o.Timeout))
	defer cancel()
	conn, err := o.dial(s)
	if err != nil {
		return 0, err
	}
	defer func() {
		if cerr := conn.close(); err == nil {
			err = cerr
		}
	}()
	c := mcp.NewClient(&mcp.Implementation{Name: "berth", Version: version.Version}, nil)
	session, err := c.Connect(ctx, conn.transport, nil)
	if err != nil {
		return 0, conn.explain(ctx, err)
	}
	defer session.Close()
	for _, err := range session.Tools(ctx, nil) {
		if err != nil {
			return n, conn.explain(ctx, err)
		}
		if n++; n > maxTools {
			return n, fmt.Errorf("more than %d tools", maxTools)
		}
	}
	return n, nil
}

// withoutURL keeps a server's address, which may name hosts and carry keys, out of what is recorded.
func withoutURL(text, url string) string {
	if url == "" {
		return text
	}
	return strings.ReplaceAll(text, url, "its URL")
}
