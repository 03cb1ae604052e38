package gateway

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// scriptFault gives the script's own fault for a request, if one is due.
func (g *Gateway) scriptFault(path, turn string) (Fault, bool) {
	for i, f := range g.script.Faults {
		if (f.Path == "" || f.Path == path) && g.due(f, fmt.Sprintf("%s %d %s", path, i, turn)) {
			return f, true
		}
	}
	return Fault{}, false
}

// ruleFault gives the rule's fault for the step that the turn is at, if one is due.
func (g *Gateway) ruleFault(r Rule, c conversation) (Fault, bool) {
	for i, f := range r.Faults {
		if (f.Step == 0 || f.Step == c.Calls+1) && g.due(f, fmt.Sprintf("%s %d %d %s", r.Name, i, c.Calls, c.TurnID)) {
			return f, true
		}
	}
	return Fault{}, false
}

// due counts how often a fault was met under key.
func (g *Gateway) due(f Fault, key string) bool {
	if f.Times == 0 {
		return true
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.attempts[key]++
	return g.attempts[key] <= f.Times
}

// inject answers with a fault instead of a.
func (g *Gateway) inject(x *exchange, f Fault, a answer) {
	x.entry.Fault = f.String()
	switch {
	case f.Status != 0:
		g.injectStatus(x, f)
	case f.Stall == StallBefore:
		g.hold(x.r.Context())
	case f.Stall == StallStream:
		x.half(a)
		g.hold(x.r.Context())
	case f.Cut:
		x.half(a)
	}
	if f.Status == 0 {
		panic(http.ErrAbortHandler) // net/http's way to break a connection: no clean end is written
	}
}

func (g *Gateway) injectStatus(x *exchange, f Fault) {
	if f.RetryAfter > 0 {
		x.w.Header().Set("Retry-After", strconv.Itoa(f.RetryAfter))
	}
	message := f.Message
	if message == "" {
		message = "scripted: " + http.StatusText(f.Status)
	}
	x.fail(f.Status, statusCode(f.Status), message)
}

// half writes the beginning of an answer.
func (x *exchange) half(a answer) {
	x.begin(a)
	if len(a.items) > 0 && a.items[0]["type"] == "message" {
		p := pieces(a.text)
		x.deltas(0, a.items[0], p[:(len(p)+1)/2])
	}
}

// hold waits until the client gives up or the gateway closes.
func (g *Gateway) hold(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-g.closing:
	}
}

// wait tells whether d passed before the client gave up.
func (g *Gateway) wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	case <-g.closing:
		return false
	}
}

// String is the fault in the log.
func (f Fault) String() string {
	switch {
	case f.Status != 0:
		return "status " + strconv.Itoa(f.Status)
	case f.Stall != "":
		return "stall " + f.Stall
	}
	return "cut"
}

// statusCode is the code that OpenAI sends with a status.
func statusCode(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "invalid_api_key"
	case http.StatusTooManyRequests:
		return "rate_limit_exceeded"
	case http.StatusInternalServerError:
		return "server_error"
	}
	return "scripted_error"
}
