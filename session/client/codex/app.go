package codex

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/berth-run/berth/internal/version"
	"github.com/berth-run/berth/session/client"
	"github.com/berth-run/berth/session/client/process"
)

// startLimit bounds each step of an app server's start.
const startLimit = 30 * time.Second

// maxLine bounds one message of a trial's app server; one may carry a whole turn.
const maxLine = 32 << 20

// app is a running app server.
type app struct {
	proc *process.Process
	rpc  *rpc
	wake chan struct{} // something was said that a record may tell of

	mu      sync.Mutex
	servers map[string]serverState
	changed chan struct{}
}

// serverState is what the app server says of an MCP server's start.
type serverState struct {
	status string // starting, ready, failed, cancelled
	err    string
}

// launch is what an app server is started with.
type launch struct {
	path string
	home home
	mark string
	env  []string
	// limit bounds all that it may say, in bytes, 0 for no bound; maxLine one message.
	limit   int64
	maxLine int
	silent  bool
}

func startApp(l launch) (*app, error) {
	p, err := process.Start(process.Spec{
		Path: l.path, Args: []string{"app-server"}, Dir: l.home.workspace(), Env: l.env, Mark: l.mark,
	})
	if err != nil {
		return nil, err
	}
	a := &app{
		proc: p, wake: make(chan struct{}, 1),
		servers: map[string]serverState{}, changed: make(chan struct{}, 1),
	}
	out := io.Reader(p.Stdout)
	if l.limit > 0 {
		out = &limitedReader{r: out, left: l.limit}
	}
	a.rpc = newRPC(out, p.Stdin, rpcOptions{maxLine: l.maxLine, onNotification: a.hear, silent: l.silent})
	return a, nil
}

// limitedReader fails, where io.LimitReader ends, when more than it may pass on is there.
type limitedReader struct {
	r    io.Reader
	left int64
}

func (l *limitedReader) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, bufio.ErrTooLong
	}
	n, err := l.r.Read(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	return n, err
}

// hear takes a notification. None of them decides anything but when to look.
func (a *app) hear(method string, params json.RawMessage) {
	switch method {
	case "turn/started", "turn/completed", "item/completed", "error":
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

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (a *app) initialize(ctx context.Context) error {
	info := map[string]any{"clientInfo": map[string]any{"name": Originator, "title": "berth", "version": version.Version}}
	if err := a.rpc.call(ctx, "initialize", info, nil); err != nil {
		return err
	}
	return a.rpc.notify("initialized")
}

// startThread opens a session in the workspace and gives its id.
func (a *app) startThread(ctx context.Context, workspace string) (string, error) {
	var r struct {
		Thread struct {
			ID string `json:"id"`
		} `json:"thread"`
	}
	if err := a.rpc.call(ctx, "thread/start", map[string]any{"cwd": workspace}, &r); err != nil {
		return "", err
	}
	if r.Thread.ID == "" {
		return "", fmt.Errorf("thread/start: %w: no thread id", errAnswer)
	}
	return r.Thread.ID, nil
}

// startTurn sends the prompt, unchanged.
func (a *app) startTurn(ctx context.Context, thread, prompt string) error {
	return a.rpc.call(ctx, "turn/start", map[string]any{
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
		case <-a.rpc.closed:
			return errClosed
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

// errLimit: a step of a start took too long.
var errLimit = errors.New("not done within")

// within bounds one step of a start.
func within(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("%w %v", errLimit, limit))
}
