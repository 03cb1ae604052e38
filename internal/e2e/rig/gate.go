package rig

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berth-run/berth/internal/gateway"
)

// Gate is a scripted gateway in this process. It can hold a model's answer back, which keeps a trial
// in the middle for as long as a test needs, and it can die.
type Gate struct {
	*httptest.Server
	t     *testing.T
	inner *gateway.Gateway
	Token gateway.File

	mu    sync.Mutex
	log   bytes.Buffer
	holds []*Hold
}

// Hold keeps the answers to prompts that contain a text.
type Hold struct {
	text    string
	arrived chan struct{} // one for each request
	Release chan struct{} // closed to let them all go
}

// NewGate serves a script and points the project's runs at it.
func (p *Project) NewGate(script string) *Gate {
	p.T.Helper()
	s, err := gateway.Load(p.Write("script.json", script))
	if err != nil {
		p.T.Fatal(err)
	}
	g := &Gate{t: p.T, Token: gateway.File(p.Path("token"))}
	if err := g.Token.Rotate(); err != nil {
		p.T.Fatal(err)
	}
	if g.inner, err = gateway.New(s, gateway.Options{Token: g.Token, Log: g}); err != nil {
		p.T.Fatal(err)
	}
	g.Server = httptest.NewServer(g)
	p.T.Cleanup(g.Die)
	p.T.Cleanup(func() { p.noToken(g) }) // in any file of any run, however it ended
	p.Env = append(p.Env, "OPENAI_BASE_URL="+g.URL+"/v1", "MST_LLM_AUTH_COMMAND=cat "+string(g.Token))
	return g
}

// Die breaks every connection and refuses new ones.
func (g *Gate) Die() {
	g.inner.Close()
	g.CloseClientConnections()
	g.Close()
}

// Hold keeps back the answers to prompts that contain text from now on.
func (g *Gate) Hold(text string) *Hold {
	h := &Hold{text: text, arrived: make(chan struct{}, 1000), Release: make(chan struct{})}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.holds = append(g.holds, h)
	return h
}

// ServeHTTP implements http.Handler.
func (g *Gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	for _, h := range g.holding(body) {
		h.arrived <- struct{}{}
		select {
		case <-h.Release:
		case <-r.Context().Done():
			panic(http.ErrAbortHandler)
		}
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	g.inner.ServeHTTP(w, r)
}

func (g *Gate) holding(body []byte) []*Hold {
	g.mu.Lock()
	defer g.mu.Unlock()
	var out []*Hold
	for _, h := range g.holds {
		if bytes.Contains(body, []byte(h.text)) {
			out = append(out, h)
		}
	}
	return out
}

// Await waits for a request that the hold keeps: its trial is in the middle.
func (h *Hold) Await(t *testing.T) {
	t.Helper()
	select {
	case <-h.arrived:
	case <-time.After(Patience):
		t.Fatalf("no request for %q in %s", h.text, Patience)
	}
}

// Write takes the gateway's log.
func (g *Gate) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.log.Write(p)
}

// Asked counts the turns with an answered model request whose prompt contains text. Codex itself may
// repeat a request, so these aren't counted.
func (g *Gate) Asked(text string) int {
	turns := map[string]bool{}
	for _, e := range g.Entries() {
		if strings.Contains(e.Prompt, text) && e.Status == http.StatusOK {
			turns[e.TurnID] = true
		}
	}
	return len(turns)
}

// Entries is the gateway's log.
func (g *Gate) Entries() []gateway.Entry {
	g.mu.Lock()
	defer g.mu.Unlock()
	var out []gateway.Entry
	for line := range bytes.Lines(g.log.Bytes()) {
		var e gateway.Entry
		if err := json.Unmarshal(line, &e); err != nil {
			g.t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

// Logged is the gateway's log as it is.
func (g *Gate) Logged() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.log.String()
}
