package session

import (
	"errors"
	"fmt"
	"strings"

	"github.com/berth-run/berth/internal/code"
)

var (
	// ErrConfig: a Config that no session can come of.
	ErrConfig = errors.New("the session's configuration")
	// ErrClosed: Close ended the session.
	ErrClosed = errors.New("the session was closed")
	// ErrNotInstalled: a service's program isn't in the image.
	ErrNotInstalled = errors.New("isn't installed")
	// ErrEnded: a service ended, which none does by itself.
	ErrEnded = errors.New("ended")
	// ErrNotReady: a service was still not ready when the time to start was over.
	ErrNotReady = errors.New("isn't ready")
	// ErrUnsupported: the services are Linux programs.
	ErrUnsupported = errors.New("a session runs on Linux only")
)

// ServiceError is what a session failed of: the one service that was the cause, not those that it took
// with it. It matches an Err… of this package, and as code.Error its Code.
type ServiceError struct {
	Service string // as in the table: "display"
	Program string // "Xvfb", "" when it has none of its own
	Err     error
	Detail  string // such as "signal: killed"
	Last    string // its last keptLines lines on stderr, joined to one
}

// Error is one line: the service, what happened, and what it last said.
func (e *ServiceError) Error() string {
	var b strings.Builder
	b.WriteString(e.Service)
	if e.Program != "" {
		fmt.Fprintf(&b, " (%s)", e.Program)
	}
	if errors.Is(e.Err, ErrEnded) || errors.Is(e.Err, ErrNotInstalled) || errors.Is(e.Err, ErrNotReady) {
		fmt.Fprintf(&b, " %v", e.Err)
	} else {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	if e.Detail != "" {
		fmt.Fprintf(&b, ": %s", e.Detail)
	}
	if e.Last != "" {
		fmt.Fprintf(&b, "; it last said: %s", e.Last)
	}
	return b.String()
}

func (e *ServiceError) Unwrap() error { return e.Err }

// As gives the failure as a code.Error, unless Err has a code of its own.
func (e *ServiceError) As(target any) bool {
	t, ok := target.(**code.Error)
	if !ok || code.Of(e.Err) != "" {
		return false
	}
	*t = &code.Error{Code: code.SessionFailed, Detail: e.Error(), Err: e.Err}
	if e.Service == keyringService {
		(*t).Code = code.KeyringAbsent
	}
	return true
}

// keptLines is how many of a program's last lines an error has; Xvfb takes five to say one thing.
const keptLines = 6

// lastLines are the last n lines of text that aren't empty, in one line.
func lastLines(text string, n int) string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line[:min(len(line), 200)])
		}
	}
	return strings.Join(lines[max(0, len(lines)-n):], " | ")
}
