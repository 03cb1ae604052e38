// Package gateway is a scripted LLM gateway: an HTTP server that speaks enough of the OpenAI
// Responses API for the real Codex, and answers by a script instead of a model. It lets every eval
// run, and be rehearsed, with no account; its faults (a rotated token, 401, 429, 500, a stall, a cut
// stream) are scripted too, so that what berth does about them is tested against the real client.
//
// It knows nothing of shards, evals or grading, and it isn't a proxy: nothing it's asked leaves it.
// The script's format is in docs/gateway-script.md.
package gateway

import (
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/berth-run/berth/internal/redact"
)

// maxBody bounds a request; Codex sends about 50 kB for a short prompt, images come as data URLs.
const maxBody = 64 << 20

// Options are what a gateway needs beside its script.
type Options struct {
	// Token is who may ask; nil accepts anyone. A script that rotates needs one.
	Token Credential
	// Log gets one JSON line (an Entry) for each request, after it ended; nil discards.
	Log io.Writer
	// Secrets are kept out of the log, with every bearer that comes: an agent may well say its token.
	// Nil is a set of the gateway's own.
	Secrets *redact.Set
	// Now is the clock of the log; nil is time.Now.
	Now func() time.Time
}

// Gateway answers by a script. It's an http.Handler, safe for concurrent use.
type Gateway struct {
	script Script
	token  Credential
	mux    *http.ServeMux
	log    journal
	now    func() time.Time
	start  int64 // makes ids differ between gateways

	seq, ids atomic.Int64
	mu       sync.Mutex
	attempts map[string]int // by fault and turn: how often it was met
	granted  int            // requests answered under the present token
	closing  chan struct{}
	once     sync.Once
	open     sync.WaitGroup // requests whose log entry isn't written yet
}

// New makes a gateway. It fails with ErrNoToken when the script rotates a token and there is none.
func New(s Script, o Options) (*Gateway, error) {
	if s.Token.RotateEvery > 0 && o.Token == nil {
		return nil, ErrNoToken
	}
	g := &Gateway{
		script: s, token: o.Token, mux: http.NewServeMux(),
		log: journal{w: o.Log, secrets: o.Secrets}, now: o.Now,
		attempts: map[string]int{}, closing: make(chan struct{}),
	}
	if g.now == nil {
		g.now = time.Now
	}
	if g.log.secrets == nil {
		g.log.secrets = &redact.Set{}
	}
	g.start = g.now().UnixMilli()
	g.mux.HandleFunc("GET /v1/models", g.handle(g.models))
	g.mux.HandleFunc("POST /v1/responses", g.handle(g.responses))
	g.mux.HandleFunc("/", g.handle(g.notFound))
	return g, nil
}

func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) { g.mux.ServeHTTP(w, r) }

// Close ends the requests that a fault has stalled. Later stalls end at once.
func (g *Gateway) Close() { g.once.Do(func() { close(g.closing) }) }

// An exchange is one request on its way to its log entry.
type exchange struct {
	w     http.ResponseWriter
	r     *http.Request
	entry *Entry
}

// handle wraps a handler with what every request gets: the bearer check and the log entry.
func (g *Gateway) handle(next func(*exchange)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		began := g.now()
		x := &exchange{w: w, r: r, entry: newEntry(r, g.seq.Add(1), began)}
		g.open.Add(1)
		defer g.open.Done()
		defer func() {
			x.entry.DurationMs = g.now().Sub(began).Milliseconds()
			g.log.write(x.entry)
		}()
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		if !g.authorized(x) {
			x.fail(http.StatusUnauthorized, "invalid_token", "the bearer token is not the one this gateway accepts")
			return
		}
		next(x)
	}
}

func (g *Gateway) notFound(x *exchange) {
	x.fail(http.StatusNotFound, "not_found", "this gateway has GET /v1/models and POST /v1/responses")
}

// fail answers with OpenAI's error shape.
func (x *exchange) fail(status int, code, message string) {
	x.entry.Error = code
	x.json(status, map[string]any{"error": map[string]any{"message": message, "type": "gateway_error", "code": code}})
}

func (x *exchange) json(status int, v any) {
	x.entry.Status = status
	x.w.Header().Set("Content-Type", "application/json")
	x.w.WriteHeader(status)
	_ = json.NewEncoder(x.w).Encode(v) // the client may be gone: there's nobody to tell
}
