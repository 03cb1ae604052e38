package engine

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// pipe is an rpc and the app server's end of it.
func pipe(t *testing.T, o ServerOptions) (c *rpc, say io.WriteCloser, hear *bufio.Scanner) {
	t.Helper()
	theirs, ours := io.Pipe()
	in, say := io.Pipe()
	o.MaxLine = 1 << 10
	t.Cleanup(func() { say.Close(); theirs.Close() })
	return newRPC(in, ours, o), say, bufio.NewScanner(theirs)
}

func TestRefusals(t *testing.T) {
	tests := []struct{ method, want string }{
		{"item/commandExecution/requestApproval", `{"id":7,"result":{"decision":"decline"}}`},
		{"item/fileChange/requestApproval", `{"id":7,"result":{"decision":"decline"}}`},
		{"execCommandApproval", `{"id":7,"result":{"decision":"abort"}}`},
		{"mcpServer/elicitation/request", `{"id":7,"result":{"action":"decline"}}`},
		{"item/permissions/requestApproval", `{"error":{"code":-32601,"message":"not supported by this client"},"id":7}`},
		{"future/question", `{"error":{"code":-32601,"message":"not supported by this client"},"id":7}`},
	}
	for _, tt := range tests {
		t.Run(tt.method, func(t *testing.T) {
			c, say, hear := pipe(t, ServerOptions{})
			write(t, say, `{"id":7,"method":"`+tt.method+`","params":{}}`)
			if !hear.Scan() || hear.Text() != tt.want {
				t.Errorf("answer %s, want %s", hear.Text(), tt.want)
			}
			if d := cmp.Diff(map[string]int{tt.method: 1}, c.refusedRequests()); d != "" {
				t.Error(d)
			}
		})
	}
}

func write(t *testing.T, w io.Writer, line string) {
	t.Helper()
	if _, err := io.WriteString(w, line+"\n"); err != nil {
		t.Fatal(err)
	}
}

func TestCall(t *testing.T) {
	tests := []struct {
		name, answer string
		want         string
		is           error
	}{
		{name: "result", answer: `{"id":0,"result":{"a":1}}`},
		{name: "not for us first", answer: "{\"id\":9,\"result\":{}}\nnoise\n{\"id\":0,\"result\":{\"a\":1}}"},
		{name: "error", answer: `{"id":0,"error":{"code":-32600,"message":"no"}}`, want: "ask: no (-32600)"},
		{name: "another shape", answer: `{"id":0,"result":[]}`, is: ErrAnswer},
		{name: "end", answer: "", is: ErrClosed},
		{name: "too long", answer: strings.Repeat("x", 2<<10), is: bufio.ErrTooLong},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, say, hear := pipe(t, ServerOptions{})
			go func() {
				hear.Scan()
				if tt.answer != "" {
					_, _ = io.WriteString(say, tt.answer+"\n")
				}
				say.Close()
			}()
			var r struct{ A int }
			err := c.call(context.Background(), "ask", map[string]any{}, &r)
			switch {
			case tt.is != nil:
				if !errors.Is(err, tt.is) {
					t.Errorf("error %v, want %v", err, tt.is)
				}
			case tt.want != "":
				if err == nil || err.Error() != tt.want {
					t.Errorf("error %v, want %s", err, tt.want)
				}
			case err != nil || r.A != 1:
				t.Errorf("result %+v, error %v", r, err)
			}
			if hear.Text() != `{"id":0,"method":"ask","params":{}}` {
				t.Errorf("request %s", hear.Text())
			}
		})
	}
}

func TestCallCancelled(t *testing.T) {
	c, _, hear := pipe(t, ServerOptions{})
	ctx, cancel := context.WithCancel(context.Background())
	go func() { hear.Scan(); cancel() }()
	if err := c.call(ctx, "ask", nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// TestSilent: the probe leaves questions without an answer, and tells of them.
func TestSilent(t *testing.T) {
	heard := make(chan string, 1)
	c, say, _ := pipe(t, ServerOptions{Silent: true, OnNotification: func(m string, _ json.RawMessage) { heard <- m }})
	write(t, say, `{"id":1,"method":"question"}`)
	write(t, say, `{"method":"next"}`)
	if m := <-heard; m != "next" || c.refusedRequests()["question"] != 1 {
		t.Errorf("heard %s, refused %v", m, c.refusedRequests())
	}
}

func TestProbeReason(t *testing.T) {
	tests := []struct {
		err  error
		want string
	}{
		{ErrLimit, "timeout"},
		{context.DeadlineExceeded, "timeout"},
		{bufio.ErrTooLong, "output-limit"},
		{ErrClosed, "unexpected-eof"},
		{ErrAnswer, "invalid-response"},
		{errServerRequest, "server-request-unsupported"},
		{&RPCError{Code: -32601}, "unsupported-method"},
		{&RPCError{Code: -32602}, "unsupported-method-or-params"},
		{&RPCError{Code: -1}, "rpc-error"},
		{io.ErrUnexpectedEOF, "io-error"},
	}
	for _, tt := range tests {
		if got := probeReason(tt.err); got != tt.want {
			t.Errorf("%v: %s, want %s", tt.err, got, tt.want)
		}
	}
}

func TestLimitedReader(t *testing.T) {
	for size, want := range map[int]error{10: nil, 11: bufio.ErrTooLong} {
		r := &limitedReader{r: strings.NewReader(strings.Repeat("x", size)), left: 11}
		if _, err := io.ReadAll(r); !errors.Is(err, want) {
			t.Errorf("%d bytes: %v, want %v", size, err, want)
		}
	}
}

// The app server can go on writing after a message that is too long.
func TestTooLongDoesntStall(t *testing.T) {
	c, say, _ := pipe(t, ServerOptions{})
	write(t, say, strings.Repeat("x", 2<<10))
	<-c.closed
	for range 3 {
		write(t, say, strings.Repeat("y", 2<<10)) // io.Pipe: returns when it has been read
	}
}
