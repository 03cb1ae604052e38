package engine

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

var (
	// ErrClosed: the app server's side of the connection ended.
	ErrClosed = errors.New("the app server closed its output")
	// ErrAnswer: an answer of another shape than this client knows.
	ErrAnswer = errors.New("unexpected answer")
)

// rpc is a connection to an app server: JSON-RPC 2.0 without the version field, one object a line.
type rpc struct {
	ServerOptions
	w   io.Writer
	wmu sync.Mutex

	mu      sync.Mutex
	next    int64
	waiting map[int64]chan message
	refused map[string]int
	err     error
	closed  chan struct{}
}

type message struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *RPCError       `json:"error,omitempty"`
}

// RPCError is an error that the app server answered with.
type RPCError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *RPCError) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// newRPC reads r until it ends.
func newRPC(r io.Reader, w io.Writer, o ServerOptions) *rpc {
	c := &rpc{
		ServerOptions: o, w: w,
		waiting: map[int64]chan message{}, refused: map[string]int{}, closed: make(chan struct{}),
	}
	go c.read(r)
	return c
}

func (c *rpc) read(r io.Reader) {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, min(64<<10, c.MaxLine)), c.MaxLine)
	for s.Scan() {
		var m message
		if json.Unmarshal(s.Bytes(), &m) != nil {
			continue // not a message: nothing here decides an outcome
		}
		c.take(m)
	}
	c.end(s.Err())
	// What is too long ends the connection and not the turn: an app that can't write stands still.
	_, _ = io.Copy(io.Discard, r)
}

func (c *rpc) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err = err; err == nil {
		c.err = ErrClosed
	}
	close(c.closed)
}

func (c *rpc) take(m message) {
	switch {
	case m.Method == "":
		var id int64
		if json.Unmarshal(m.ID, &id) != nil {
			return
		}
		c.mu.Lock()
		ch := c.waiting[id]
		delete(c.waiting, id)
		c.mu.Unlock()
		if ch != nil {
			ch <- m
		}
	case len(m.ID) > 0:
		c.refuse(m)
	case c.OnNotification != nil:
		c.OnNotification(m.Method, m.Params)
	}
}

// call sends a request and waits for its answer.
func (c *rpc) call(ctx context.Context, method string, params, result any) error {
	id, ch := c.register()
	if err := c.send(map[string]any{"id": id, "method": method, "params": params}); err != nil {
		return err
	}
	select {
	case m := <-ch:
		return answer(method, m, result)
	case <-c.closed:
		select {
		case m := <-ch: // the answer came before the end
			return answer(method, m, result)
		default:
			return fmt.Errorf("%s: %w", method, c.err)
		}
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", method, context.Cause(ctx))
	}
}

func answer(method string, m message, result any) error {
	if m.Error != nil {
		return fmt.Errorf("%s: %w", method, m.Error)
	}
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(m.Result, result); err != nil {
		return fmt.Errorf("%s: %w: %w", method, ErrAnswer, err)
	}
	return nil
}

func (c *rpc) register() (int64, chan message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := c.next
	c.next++
	ch := make(chan message, 1)
	c.waiting[id] = ch
	return id, ch
}

func (c *rpc) notify(method string) error { return c.send(map[string]any{"method": method}) }

func (c *rpc) send(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	c.wmu.Lock()
	defer c.wmu.Unlock()
	_, err = c.w.Write(append(line, '\n'))
	return err
}
