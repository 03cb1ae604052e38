// Package engine runs the real Codex behind the stand-in: one `codex app-server` over stdio, spoken to
// as the client that the app's surface is. What it's configured with is its own CODEX_HOME's business.
package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"
)

// Update is something that a turn did.
type Update struct {
	Text  string // a message of the model's, whole
	Done  bool   // the turn is over
	Error string // why, if not well
}

// Engine starts app servers as they are needed, one at a time: who speaks is said once, at the start.
type Engine struct {
	path   string
	stderr io.Writer
	failed func(error) // an app server ended by itself

	mu     sync.Mutex
	server *server
	closed bool
}

// ErrClosed: the app is ending.
var ErrClosed = errors.New("the app is ending")

// New uses the Codex at path. failed is called when a running one ends by itself.
func New(path string, stderr io.Writer, failed func(error)) *Engine {
	return &Engine{path: path, stderr: stderr, failed: failed}
}

// server is a running app server.
type server struct {
	originator string
	home       string
	cmd        *exec.Cmd
	rpc        *rpc
	gone       chan struct{}
	unwanted   atomic.Bool // we have ended it

	mu    sync.Mutex
	turns map[string]func(Update) // by thread
}

// Ensure has an app server run for which we are originator, with a CODEX_HOME of its own if home isn't "".
func (e *Engine) Ensure(ctx context.Context, originator, home string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, err := e.ensure(ctx, originator, home)
	return err
}

func (e *Engine) ensure(ctx context.Context, originator, home string) (*server, error) {
	if e.closed {
		return nil, ErrClosed
	}
	if e.server != nil && e.server.originator == originator && e.server.home == home && !e.server.ended() {
		return e.server, nil
	}
	e.stop()
	s, err := e.start(originator, home)
	if err != nil {
		return nil, err
	}
	e.server = s
	info := map[string]any{"clientInfo": map[string]any{"name": originator, "title": "ChatGPT", "version": "26.915.31945"}}
	if err := s.rpc.call(ctx, "initialize", info, nil); err != nil {
		e.stop()
		return nil, err
	}
	return s, s.rpc.send(map[string]any{"method": "initialized"})
}

func (e *Engine) start(originator, home string) (*server, error) {
	cmd := exec.Command(e.path, "app-server")
	if home != "" {
		cmd.Env = append(os.Environ(), "CODEX_HOME="+home)
	}
	cmd.Stderr = e.stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &server{originator: originator, home: home, cmd: cmd, gone: make(chan struct{}), turns: map[string]func(Update){}}
	s.rpc = newRPC(out, in, s.hear)
	go e.wait(s)
	return s, nil
}

func (e *Engine) wait(s *server) {
	<-s.rpc.ended
	_ = s.cmd.Wait() // what it says is in ProcessState
	close(s.gone)
	if !s.unwanted.Load() {
		e.failed(fmt.Errorf("codex app-server ended: %s", s.cmd.ProcessState))
	}
}

func (s *server) ended() bool {
	select {
	case <-s.gone:
		return true
	default:
		return false
	}
}

// grace is how long an app server has to end when its stdin does.
const grace = 2 * time.Second

// stop ends the app server and waits until it's gone.
func (e *Engine) stop() {
	s := e.server
	if s == nil {
		return
	}
	e.server = nil
	s.unwanted.Store(true)
	s.rpc.w.Close()
	select {
	case <-s.gone:
	case <-time.After(grace):
		_ = s.cmd.Process.Signal(os.Kill) // it may have ended now
		<-s.gone
	}
}

// Close ends the app server; none is started after.
func (e *Engine) Close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	e.stop()
}

// Prompt is one to be sent.
type Prompt struct {
	Originator string
	Home       string // CODEX_HOME, "" for the app's
	Path       string // of the workspace
	Text       string
	Model      string // "" is the one of the config
	Effort     string // "" likewise
}

// Send opens a thread in the prompt's workspace and starts a turn. on is told of what the turn does.
func (e *Engine) Send(ctx context.Context, p Prompt, on func(Update)) (thread string, err error) {
	e.mu.Lock()
	s, err := e.ensure(ctx, p.Originator, p.Home)
	e.mu.Unlock()
	if err != nil {
		return "", err
	}
	params := map[string]any{"cwd": p.Path}
	if p.Model != "" {
		params["model"] = p.Model
	}
	var r struct{ Thread struct{ ID string } }
	if err := s.rpc.call(ctx, "thread/start", params, &r); err != nil {
		return "", err
	}
	s.mu.Lock()
	s.turns[r.Thread.ID] = on
	s.mu.Unlock()
	turn := map[string]any{"threadId": r.Thread.ID, "input": []any{map[string]any{"type": "text", "text": p.Text}}}
	if p.Effort != "" {
		turn["effort"] = p.Effort
	}
	return r.Thread.ID, s.rpc.call(ctx, "turn/start", turn, nil)
}

// hear takes the notifications that a conversation shows something of.
func (s *server) hear(method string, params json.RawMessage) {
	var p struct {
		ThreadID string
		Item     struct{ Type, Text string }
		Turn     struct {
			Status string
			Error  *struct{ Message string }
		}
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	s.mu.Lock()
	on := s.turns[p.ThreadID]
	s.mu.Unlock()
	switch {
	case on == nil:
	case method == "item/completed" && p.Item.Type == "agentMessage":
		on(Update{Text: p.Item.Text})
	case method == "turn/completed":
		u := Update{Done: true}
		if p.Turn.Error != nil {
			u.Error = p.Turn.Error.Message
		}
		on(u)
	}
}
