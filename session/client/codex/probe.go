package codex

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

// probe starts the app server once, as a trial will: it must accept its config, run a command without a
// sandbox around it, and see every server's tools.
func (s *session) probe(ctx context.Context, h home, mark string) (err error) {
	ctx, cancel := within(ctx, probeLimit)
	defer cancel()
	a, err := startApp(launch{
		path: s.client.opts.Path, home: h, mark: mark, env: environ(h, s.batch.Servers, s.options.Env),
		limit: probeMaxAll, maxLine: probeMaxLine, silent: true,
	})
	if err != nil {
		return code.Errorf(code.AppStartFailed, "%w", err)
	}
	defer func() {
		if end := a.proc.End(ctx); end != nil && err == nil {
			err = code.Errorf(code.AppStopFailed, "%w", end)
		}
	}()
	if err := a.initialize(ctx); err != nil {
		return s.startError(a, err)
	}
	if err := s.probeCommand(ctx, a); err != nil {
		return err
	}
	return s.probeServers(ctx, a)
}

// startError says why an app server didn't start, with its last word.
func (s *session) startError(a *app, err error) error {
	c := code.AppStartFailed
	if a.ended() {
		c = code.AppExited
	}
	return code.Errorf(c, "codex app-server: %w%s%s", err, ending(a), s.lastLine(a.proc.Stderr()))
}

// ended tells whether the app's program is gone, or is about to, having closed its output.
func (a *app) ended() bool {
	select {
	case <-a.rpc.closed:
	default:
		return a.proc.Exit() != ""
	}
	select {
	case <-a.proc.Done():
		return true
	case <-time.After(time.Second):
		return false
	}
}

func ending(a *app) string {
	if exit := a.proc.Exit(); exit != "" {
		return " (" + exit + ")"
	}
	return ""
}

// commandProbe prints its parent's name: Codex's own when nothing is wrapped around a command.
const commandProbe = `read -r name </proc/$PPID/comm && echo "berth $name"`

// probeCommand runs one command the way Codex runs the model's (openai/codex#16211: a bubblewrap around
// it can't work in a shard).
func (s *session) probeCommand(ctx context.Context, a *app) error {
	var r struct {
		ExitCode int
		Stdout   string
		Stderr   string
	}
	err := a.rpc.call(ctx, "command/exec", map[string]any{"command": []string{"/bin/sh", "-c", commandProbe}}, &r)
	if err != nil {
		return s.startError(a, err)
	}
	parent, ok := strings.CutPrefix(strings.TrimSpace(r.Stdout), "berth ")
	if r.ExitCode != 0 || !ok {
		return code.Errorf(code.EnvironmentInvalid, "Codex can't run commands here: exit status %d%s", r.ExitCode, s.lastLine(r.Stderr))
	}
	if strings.Contains(parent, "bwrap") {
		return code.Errorf(code.EnvironmentInvalid, "Codex wraps commands in %s in spite of danger-full-access", parent)
	}
	s.readiness.ExecutionPolicy = "danger-full-access"
	return nil
}

type serverStatus struct {
	Name       string                     `json:"name"`
	Tools      map[string]json.RawMessage `json:"tools"`
	AuthStatus string                     `json:"authStatus"`
	ToolsError string                     `json:"toolsError"`
}

func (s *session) probeServers(ctx context.Context, a *app) error {
	if len(s.batch.Servers) == 0 {
		return nil
	}
	var r struct {
		Data []serverStatus `json:"data"`
	}
	err := a.rpc.call(ctx, "mcpServerStatus/list", map[string]any{"detail": "toolsAndAuthOnly", "limit": 100}, &r)
	if refused := a.rpc.refusedRequests(); err == nil && len(refused) > 0 {
		err = errServerRequest
	}
	if err != nil {
		s.readiness.MCPStatus = probeReason(err)
		return code.Errorf(code.MCPStatusUnavailable, "app-server probe: %s: %w", s.readiness.MCPStatus, err)
	}
	byName := map[string]serverStatus{}
	for _, st := range r.Data {
		byName[st.Name] = st
	}
	for _, srv := range s.batch.Servers {
		if err := checkStatus(srv, byName); err != nil {
			s.readiness.MCPStatus = "not-ready"
			return code.Errorf(code.MCPServerNotReady, "MCP server %s: %w", srv.Label, err)
		}
	}
	s.readiness.MCPStatus = "ready"
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
	var rpcErr *rpcError
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, errLimit):
		return "timeout"
	case errors.Is(err, bufio.ErrTooLong):
		return "output-limit"
	case errors.Is(err, errClosed):
		return "unexpected-eof"
	case errors.Is(err, errAnswer):
		return "invalid-response"
	case errors.Is(err, errServerRequest):
		return "server-request-unsupported"
	case errors.As(err, &rpcErr) && rpcErr.Code == -32601:
		return "unsupported-method"
	case errors.As(err, &rpcErr) && (rpcErr.Code == -32600 || rpcErr.Code == -32602):
		return "unsupported-method-or-params"
	case errors.As(err, &rpcErr):
		return "rpc-error"
	}
	return "io-error"
}
