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

// maxLine bounds a message that is looked at, in bytes. A longer one is passed over: an app server whose
// output nobody reads stands still.
const maxLine = 32 << 20

var errEnded = errors.New("the app server ended")

// rpc is JSON-RPC without the version field, one object a line. What the app server asks has no
// answer: nobody is there to give one.
type rpc struct {
	w     io.WriteCloser
	wmu   sync.Mutex
	hear  func(method string, params json.RawMessage)
	ended chan struct{}

	mu      sync.Mutex
	next    int
	waiting map[int]chan message
}

type message struct {
	ID     *int            `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

func newRPC(r io.Reader, w io.WriteCloser, hear func(string, json.RawMessage)) *rpc {
	c := &rpc{w: w, hear: hear, ended: make(chan struct{}), waiting: map[int]chan message{}}
	go c.read(r)
	return c
}

func (c *rpc) read(r io.Reader) {
	defer close(c.ended)
	lines := bufio.NewReader(r)
	for {
		line, err := nextLine(lines)
		if len(line) > 0 {
			c.take(line)
		}
		if err != nil {
			return
		}
	}
}

// nextLine gives the next line, or nothing in the place of one that is too long.
func nextLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := r.ReadSlice('\n')
		if long = long || len(line)+len(part) > maxLine; long {
			line = nil
		} else {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

func (c *rpc) take(line []byte) {
	var m message
	if json.Unmarshal(line, &m) != nil {
		return
	}
	switch {
	case m.Method == "" && m.ID != nil:
		c.answered(m)
	case m.ID == nil:
		c.hear(m.Method, m.Params)
	}
}

func (c *rpc) answered(m message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ch := c.waiting[*m.ID]; ch != nil {
		delete(c.waiting, *m.ID)
		ch <- m
	}
}

// call sends a request and waits for its answer.
func (c *rpc) call(ctx context.Context, method string, params, result any) error {
	c.mu.Lock()
	c.next++
	id, ch := c.next, make(chan message, 1)
	c.waiting[id] = ch
	c.mu.Unlock()
	if err := c.send(map[string]any{"id": id, "method": method, "params": params}); err != nil {
		return err
	}
	select {
	case m := <-ch:
		switch {
		case m.Error != nil:
			return fmt.Errorf("%s: %s (%d)", method, m.Error.Message, m.Error.Code)
		case result == nil:
			return nil
		}
		return json.Unmarshal(m.Result, result)
	case <-c.ended:
		return fmt.Errorf("%s: %w", method, errEnded)
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", method, context.Cause(ctx))
	}
}

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
