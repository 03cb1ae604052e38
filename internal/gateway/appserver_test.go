package gateway

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"testing"
	"time"
)

// appServer is a running `codex app-server`, spoken to one request at a time.
type appServer struct {
	t   *testing.T
	in  io.WriteCloser
	out *bufio.Scanner
	id  int
}

// serverLine is any line from the server.
type serverLine struct {
	ID     *int            `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

func (c *codexHome) appServer() *appServer {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	c.t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, c.binary, "app-server")
	cmd.Dir = c.home
	cmd.Env = []string{"CODEX_HOME=" + c.home, "HOME=" + c.home, "PATH=/usr/bin:/bin"}
	in, err := cmd.StdinPipe()
	check(c.t, err)
	out, err := cmd.StdoutPipe()
	check(c.t, err)
	check(c.t, cmd.Start())
	c.t.Cleanup(func() {
		in.Close() // which ends it
		cmd.Wait()
	})
	s := &appServer{t: c.t, in: in, out: bufio.NewScanner(out)}
	s.out.Buffer(nil, 4<<20)
	s.call("initialize", map[string]any{"clientInfo": map[string]any{"name": "gateway_test", "version": "1"}}, nil)
	s.send(map[string]any{"method": "initialized"})
	return s
}

func (s *appServer) send(v any) {
	s.t.Helper()
	check(s.t, json.NewEncoder(s.in).Encode(v))
}

// until reads lines up to the one that done takes.
func (s *appServer) until(done func(serverLine) bool) {
	s.t.Helper()
	for s.out.Scan() {
		var m serverLine
		check(s.t, json.Unmarshal(s.out.Bytes(), &m))
		if done(m) {
			return
		}
	}
	s.t.Fatalf("the app server has ended: %v", s.out.Err())
}

func (s *appServer) call(method string, params, result any) {
	s.t.Helper()
	s.id++
	id := s.id
	s.send(map[string]any{"id": id, "method": method, "params": params})
	s.until(func(m serverLine) bool {
		if m.ID == nil || *m.ID != id {
			return false
		}
		if m.Error != nil {
			s.t.Fatalf("%s: %s", method, m.Error)
		}
		if result != nil {
			check(s.t, json.Unmarshal(m.Result, result))
		}
		return true
	})
}

// turn sends a prompt and gives the last text of the turn.
func (s *appServer) turn(thread, prompt string) (final string) {
	s.t.Helper()
	s.call("turn/start", map[string]any{
		"threadId": thread, "input": []any{map[string]any{"type": "text", "text": prompt}},
	}, nil)
	s.until(func(m serverLine) bool {
		if m.Method == "item/completed" {
			var p struct {
				Item struct{ Type, Text string }
			}
			check(s.t, json.Unmarshal(m.Params, &p))
			if p.Item.Type == "agentMessage" {
				final = p.Item.Text
			}
		}
		return m.Method == "turn/completed"
	})
	return final
}

// Several turns on one thread each start at their own first step.
func TestCodexAppServer(t *testing.T) {
	for _, model := range []string{"gpt-5.5", "gpt-6-luna"} {
		t.Run(model, func(t *testing.T) {
			c := newCodex(t, toolScript)
			s := c.appServer()
			var thread struct {
				Thread struct{ ID string }
			}
			s.call("thread/start", map[string]any{"model": model}, &thread)
			for _, turn := range []struct{ prompt, final string }{
				{"please add", "It is 42."},
				{"run something", "one\ntwo/three"},
				{"say hi", fmt.Sprintf("Hi, this is %s.", model)},
				{"add again", "It is 42."},
			} {
				if got := s.turn(thread.Thread.ID, turn.prompt); got != turn.final {
					t.Errorf("%s: %q, want %q", turn.prompt, got, turn.final)
				}
			}
			turns := map[string]bool{}
			for _, e := range c.entries() {
				turns[e.TurnID] = true
				if e.Status != 200 || e.ThreadID != thread.Thread.ID {
					t.Errorf("%+v", e)
				}
			}
			if len(turns) != 4 {
				t.Errorf("%d turns in the log, want 4", len(turns))
			}
		})
	}
}
