package engine

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/session/client"
)

// Limits of the probe (contract §6.4).
const (
	probeLimit   = 30 * time.Second
	probeMaxLine = 256 << 10
	probeMaxAll  = 4 << 20
)

// Probe starts the app server once, as the app will: it must accept its config, run a command without a
// sandbox around it, and see every server's tools. What it found goes into r; name is the originator.
func (c Codex) Probe(ctx context.Context, name string, servers []client.Server, r *client.Readiness) (err error) {
	ctx, cancel := within(ctx, probeLimit)
	defer cancel()
	s, err := c.Serve(ServerOptions{MaxLine: probeMaxLine, MaxAll: probeMaxAll, Silent: true})
	if err != nil {
		return err
	}
	defer func() {
		if end := s.Process.End(ctx); end != nil && err == nil {
			err = code.Errorf(code.AppStopFailed, "%w", end)
		}
	}()
	if err := s.Initialize(ctx, name); err != nil {
		return s.StartError(err)
	}
	if err := s.probeCommand(ctx, r); err != nil {
		return err
	}
	return s.probeServers(ctx, servers, r)
}

// commandProbe prints its parent's name: Codex's own when nothing is wrapped around a command.
const commandProbe = `read -r name </proc/$PPID/comm && echo "berth $name"`

// probeCommand runs one command the way Codex runs the model's (openai/codex#16211: a bubblewrap around
// it can't work in a shard).
func (s *Server) probeCommand(ctx context.Context, ready *client.Readiness) error {
	var r struct {
		ExitCode int
		Stdout   string
		Stderr   string
	}
	err := s.Call(ctx, "command/exec", map[string]any{"command": []string{"/bin/sh", "-c", commandProbe}}, &r)
	if err != nil {
		return s.StartError(err)
	}
	parent, ok := strings.CutPrefix(strings.TrimSpace(r.Stdout), "berth ")
	if r.ExitCode != 0 || !ok {
		return code.Errorf(code.EnvironmentInvalid, "Codex can't run commands here: exit status %d%s", r.ExitCode, s.codex.lastLine(r.Stderr))
	}
	if strings.Contains(parent, "bwrap") {
		return code.Errorf(code.EnvironmentInvalid, "Codex wraps commands in %s in spite of danger-full-access", parent)
	}
	ready.ExecutionPolicy = "danger-full-access"
	return nil
}

type serverStatus struct {
	Name       string                     `json:"name"`
	Tools      map[string]json.RawMessage `json:"tools"`
	AuthStatus string                     `json:"authStatus"`
	ToolsError string                     `json:"toolsError"`
}

func (s *Server) probeServers(ctx context.Context, servers []client.Server, ready *client.Readiness) error {
	if len(servers) == 0 {
		return nil
	}
	var r struct {
		Data []serverStatus `json:"data"`
	}
	err := s.Call(ctx, "mcpServerStatus/list", map[string]any{"detail": "toolsAndAuthOnly", "limit": 100}, &r)
	if refused := s.Refused(); err == nil && len(refused) > 0 {
		err = errServerRequest
	}
	if err != nil {
		ready.MCPStatus = probeReason(err)
		return code.Errorf(code.MCPStatusUnavailable, "app-server probe: %s: %w", ready.MCPStatus, err)
	}
	byName := map[string]serverStatus{}
	for _, st := range r.Data {
		byName[st.Name] = st
	}
	for _, srv := range servers {
		if err := checkStatus(srv, byName); err != nil {
			ready.MCPStatus = "not-ready"
			return code.Errorf(code.MCPServerNotReady, "MCP server %s: %w", srv.Label, err)
		}
	}
	ready.MCPStatus = "ready"
	return nil
}

func checkStatus(srv client.Server, all map[string]serverStatus) error {
	st, ok := all[srv.Label]
	switch least := max(1, srv.MinTools); {
	case !ok:
		return errors.New("Codex doesn't know it")
	case st.ToolsError != "":
		return fmt.Errorf("Codex got no tools: %s", st.ToolsError)
	case len(st.Tools) < least:
		return fmt.Errorf("too few tools in Codex (%d < %d)", len(st.Tools), least)
	case st.AuthStatus != "bearerToken" && st.AuthStatus != "unsupported":
		return fmt.Errorf("Codex's sign-in to it is %q", st.AuthStatus)
	}
	return nil
}

var errServerRequest = errors.New("the app server asked something")

// probeReason names the kind of failure by contract §6.3's list.
func probeReason(err error) string {
	var rpcErr *RPCError
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, ErrLimit):
		return "timeout"
	case errors.Is(err, bufio.ErrTooLong):
		return "output-limit"
	case errors.Is(err, ErrClosed):
		return "unexpected-eof"
	case errors.Is(err, ErrAnswer):
		return "invalid-response"
	case errors.Is(err, errServerRequest):
		return "server-request-unsupported"
	case errors.As(err, &rpcErr) && rpcErr.Code == -32601:
		return "unsupported-method"
	case errors.As(err, &rpcErr) && (rpcErr.Code == -32600 || rpcErr.Code == -32602):
		return "unsupported-method-or-params"
	case errors.As(err, &rpcErr):
		return httpReason(rpcErr.Message)
	}
	return "io-error"
}

var httpStatus = regexp.MustCompile(`(?i)\b(?:http|status)\b[^0-9]{0,16}([45])([0-9]{2})\b`)

// httpReason is the reason of an error that the app server answered with, which may name the status that it
// got itself.
func httpReason(message string) string {
	m := httpStatus.FindStringSubmatch(message)
	switch {
	case m == nil:
		return "rpc-error"
	case m[1] == "5":
		return "http-server-error"
	case m[2] == "01" || m[2] == "03":
		return "http-auth-error"
	}
	return "http-client-error"
}
