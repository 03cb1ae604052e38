package engine

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// peer is an rpc with the app server's end of it.
func peer(t *testing.T, hear func(string, json.RawMessage)) (c *rpc, asked *bufio.Scanner, says io.WriteCloser) {
	t.Helper()
	out, says := io.Pipe()
	in, w := io.Pipe()
	t.Cleanup(func() { says.Close(); in.Close() })
	return newRPC(out, w, hear), bufio.NewScanner(in), says
}

func TestCall(t *testing.T) {
	heard := make(chan string, 1)
	c, asked, says := peer(t, func(method string, params json.RawMessage) { heard <- method + string(params) })
	go func() {
		asked.Scan()
		fmt.Fprintln(says, `not a message`)
		fmt.Fprintln(says, `{"id":9,"method":"item/commandExecution/requestApproval","params":{}}`)
		fmt.Fprintln(says, `{"method":"turn/started","params":{"a":1}}`)
		fmt.Fprintln(says, `{"id":1,"result":{"b":2}}`)
		asked.Scan()
		fmt.Fprintln(says, `{"id":2,"error":{"code":-1,"message":"no"}}`)
	}()
	var result struct{ B int }
	if err := c.call(t.Context(), "first", map[string]any{}, &result); err != nil || result.B != 2 {
		t.Errorf("%+v, %v", result, err)
	}
	if got := <-heard; got != `turn/started{"a":1}` {
		t.Errorf("heard %s", got)
	}
	// What was asked in between has no answer: the next line is the next call.
	if err := c.call(t.Context(), "second", nil, nil); err == nil || err.Error() != "second: no (-1)" {
		t.Errorf("error %v", err)
	}
	if !strings.Contains(asked.Text(), `"second"`) {
		t.Errorf("asked %s", asked.Text())
	}
}

func TestCallEnds(t *testing.T) {
	c, asked, says := peer(t, nil)
	go func() { asked.Scan(); says.Close() }()
	if err := c.call(t.Context(), "first", nil, nil); !errors.Is(err, errEnded) {
		t.Errorf("error %v", err)
	}
	c, asked, _ = peer(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { asked.Scan(); cancel() }()
	if err := c.call(ctx, "first", nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// TestLongLine: a message that is too long is passed over, and the next one is heard.
func TestLongLine(t *testing.T) {
	heard := make(chan string, 2)
	_, _, says := peer(t, func(method string, _ json.RawMessage) { heard <- method })
	go func() {
		fmt.Fprintf(says, `{"method":"long","params":"%s"}`+"\n", strings.Repeat("x", maxLine))
		fmt.Fprintln(says, `{"method":"next"}`)
	}()
	if got := <-heard; got != "next" {
		t.Errorf("heard %q", got)
	}
}
