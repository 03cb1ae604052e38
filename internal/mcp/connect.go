package mcp

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/berth-run/berth/session/client"
	"github.com/berth-run/berth/session/client/process"
)

// Transports of a server.
const (
	TransportStdio = "stdio"
	TransportHTTP  = "http"
)

// connection is a transport, and the program behind it if it's a stdio server's.
type connection struct {
	transport mcp.Transport
	program   *process.Process
}

func (o Options) dial(s client.Server) (*connection, error) {
	switch s.Transport {
	case TransportStdio:
		return o.spawn(s)
	case TransportHTTP:
		// A redirect would carry the bearer elsewhere.
		c := &http.Client{Transport: bearer{token: s.Token}, CheckRedirect: noRedirect}
		return &connection{transport: &mcp.StreamableClientTransport{
			Endpoint: s.URL, HTTPClient: c, MaxRetries: -1, DisableStandaloneSSE: true,
		}}, nil
	}
	return nil, fmt.Errorf("unknown transport %q", s.Transport)
}

func (o Options) spawn(s client.Server) (*connection, error) {
	spec := process.Spec{Path: s.Command, Args: s.Args, Dir: s.Cwd, Env: slices.Clone(o.Env)}
	if spec.Dir == "" {
		spec.Dir = o.Dir
	}
	for name, value := range s.Env {
		spec.Env = append(spec.Env, name+"="+value)
	}
	p, err := process.Start(spec)
	if err != nil {
		return nil, err
	}
	return &connection{transport: &mcp.IOTransport{Reader: p.Stdout, Writer: p.Stdin}, program: p}, nil
}

// close ends the program; a session must have been closed before.
func (c *connection) close() error {
	if c.program == nil {
		return nil
	}
	// The preflight's time may be over; a server that is done has nothing to save.
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return c.program.End(ctx)
}

// explain puts the cause first: the time that was over, or how the program ended and its last words.
func (c *connection) explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if c.program == nil || !c.ended() {
		return err
	}
	_ = c.close() // what it wrote is complete then; the caller's own close gives the error again
	return fmt.Errorf("the server ended (%s)%s", c.program.Exit(), lastWords(c.program.Stderr()))
}

// endWithin is how long a program that closed its stdout may need for the rest, on a busy machine.
const endWithin = 5 * time.Second

// ended tells whether the program is gone.
func (c *connection) ended() bool {
	select {
	case <-c.program.Done():
		return true
	case <-time.After(endWithin):
		return false
	}
}

func lastWords(stderr string) string {
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return ": " + last
	}
	return ""
}

func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// bearer adds the server's token to every request.
type bearer struct{ token string }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.token == "" {
		return http.DefaultTransport.RoundTrip(r)
	}
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return http.DefaultTransport.RoundTrip(r)
}
