package engine

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/version"
	"github.com/berth-run/berth/session/client/process"
)

// MaxLine bounds one message of an app server that runs turns, in bytes; one may carry a whole turn.
const MaxLine = 32 << 20

// Server is a running app server (`codex app-server`).
type Server struct {
	Process *process.Process
	codex   Codex
	rpc     *rpc
}

// ServerOptions bound and follow what an app server says.
type ServerOptions struct {
	// MaxLine bounds one message, in bytes; 0 is the package's.
	MaxLine int
	// MaxAll bounds all that it may say, in bytes; 0 for no bound.
	MaxAll int64
	// OnNotification is called for each notification, one at a time, and must not block.
	OnNotification func(method string, params json.RawMessage)
	// Silent leaves its requests without an answer; they're counted all the same.
	Silent bool
}

// Serve starts an app server. Whoever does ends it with End.
func (c Codex) Serve(o ServerOptions) (*Server, error) {
	p, err := process.Start(process.Spec{Path: c.Path, Args: []string{"app-server"}, Dir: c.Dir, Env: c.Env, Mark: c.Mark})
	if err != nil {
		return nil, code.Errorf(code.AppStartFailed, "%w", err)
	}
	if o.MaxLine == 0 {
		o.MaxLine = MaxLine
	}
	out := io.Reader(p.Stdout)
	if o.MaxAll > 0 {
		out = &limitedReader{r: out, left: o.MaxAll}
	}
	return &Server{Process: p, codex: c, rpc: newRPC(out, p.Stdin, o)}, nil
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

// Initialize introduces the caller by the name that every record of this server carries (originator).
func (s *Server) Initialize(ctx context.Context, name string) error {
	info := map[string]any{"clientInfo": map[string]any{"name": name, "title": "berth", "version": version.Version}}
	if err := s.Call(ctx, "initialize", info, nil); err != nil {
		return err
	}
	return s.rpc.notify("initialized")
}

// Call sends a request and waits for its answer. An error that the server answered with is an
// *RPCError.
func (s *Server) Call(ctx context.Context, method string, params, result any) error {
	return s.rpc.call(ctx, method, params, result)
}

// Closed is closed when the server's output has ended.
func (s *Server) Closed() <-chan struct{} { return s.rpc.closed }

// Refused counts the refused requests of the server by method.
func (s *Server) Refused() map[string]int { return s.rpc.refusedRequests() }

// Ended tells whether the server's program is gone, or is about to, having closed its output.
func (s *Server) Ended() bool {
	select {
	case <-s.rpc.closed:
		return s.ends()
	default:
		return s.Process.Exit() != ""
	}
}

// ends gives a program that speaks or listens no more a moment to end.
func (s *Server) ends() bool {
	select {
	case <-s.Process.Done():
		return true
	case <-time.After(time.Second):
		return false
	}
}

// StartError says why a server didn't start, with its last word.
func (s *Server) StartError(err error) error {
	c := code.AppStartFailed
	if s.Ended() || errors.Is(err, syscall.EPIPE) && s.ends() {
		c = code.AppExited
	}
	ending := ""
	if exit := s.Process.Exit(); exit != "" {
		ending = " (" + exit + ")"
	}
	return code.Errorf(c, "codex app-server: %w%s%s", err, ending, s.codex.lastLine(s.Process.Stderr()))
}

// ErrLimit: a step of a start took too long.
var ErrLimit = errors.New("not done within")

// Within bounds one step of a start.
func Within(ctx context.Context) (context.Context, context.CancelFunc) {
	return within(ctx, startLimit)
}

func within(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("%w %v", ErrLimit, limit))
}
