package codex

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/berth-run/berth/session/client"
	"github.com/berth-run/berth/session/client/engine"
)

// app is a running app server.
type app struct {
	*engine.Server
	wake chan struct{} // something was said that a record may tell of
	over chan struct{} // closed when it says that the turn is over

	mu      sync.Mutex
	thread  string
	servers map[string]serverState
	changed chan struct{}
}

// serverState is what the app server says of an MCP server's start.
type serverState struct {
	status string // starting, ready, failed, cancelled
	err    string
}

func startApp(c engine.Codex) (*app, error) {
	a := &app{wake: make(chan struct{}, 1), over: make(chan struct{}), servers: map[string]serverState{}, changed: make(chan struct{}, 1)}
	server, err := c.Serve(engine.ServerOptions{OnNotification: a.hear})
	if err != nil {
		return nil, err
	}
	a.Server = server
	return a, nil
}

// hear takes a notification. None of them decides anything but when to look, and how long.
func (a *app) hear(method string, params json.RawMessage) {
	switch method {
	case "turn/completed":
		a.ended(params)
		signal(a.wake)
	case "turn/started", "item/completed", "error":
		signal(a.wake)
	case "mcpServer/startupStatus/updated":
		var s struct{ Name, Status, Error string }
		if json.Unmarshal(params, &s) == nil {
			a.mu.Lock()
			a.servers[s.Name] = serverState{s.Status, s.Error}
			a.mu.Unlock()
			signal(a.changed)
		}
	}
}

// ended closes over with the end of our own turn, and not with that of an agent's that it started.
func (a *app) ended(params json.RawMessage) {
	var of struct {
		ThreadID string `json:"threadId"`
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if json.Unmarshal(params, &of) != nil || of.ThreadID != a.thread {
		return
	}
	select {
	case <-a.over:
	default:
		close(a.over)
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// startThread opens a session in the workspace and gives its id.
func (a *app) startThread(ctx context.Context, workspace string) (string, error) {
	var r struct {
		Thread struct {
			ID string `json:"id"`
		} `json:"thread"`
	}
	if err := a.Call(ctx, "thread/start", map[string]any{"cwd": workspace}, &r); err != nil {
		return "", err
	}
	if r.Thread.ID == "" {
		return "", fmt.Errorf("thread/start: %w: no thread id", engine.ErrAnswer)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.thread = r.Thread.ID
	return a.thread, nil
}

// startTurn sends the prompt, unchanged.
func (a *app) startTurn(ctx context.Context, thread, prompt string) error {
	return a.Call(ctx, "turn/start", map[string]any{
		"threadId": thread,
		"input":    []any{map[string]any{"type": "text", "text": prompt}},
	}, nil)
}

// serversReady waits until every server of the thread has started: a turn that begins earlier may not
// have its tools.
func (a *app) serversReady(ctx context.Context, servers []client.Server) error {
	for {
		waiting := ""
		for _, s := range servers {
			switch st := a.server(s.Label); st.status {
			case "ready":
			case "failed", "cancelled":
				return fmt.Errorf("MCP server %s: %s: %s", s.Label, st.status, st.err)
			default:
				waiting = s.Label
			}
		}
		if waiting == "" {
			return nil
		}
		select {
		case <-a.changed:
		case <-a.Closed():
			return engine.ErrClosed
		case <-ctx.Done():
			return fmt.Errorf("MCP server %s has not started: %w", waiting, context.Cause(ctx))
		}
	}
}

func (a *app) server(label string) serverState {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.servers[label]
}
