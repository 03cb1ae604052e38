package e2e

import (
	"bufio"
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

// gate is a scripted gateway in this process. It can hold a model's answer back, which keeps a trial
// in the middle for as long as a test needs, and it can die.
type gate struct {
	*httptest.Server
	t     *testing.T
	inner *gateway.Gateway
	token gateway.File

	mu    sync.Mutex
	log   bytes.Buffer
	holds []*hold
}

// hold keeps the answers to prompts that contain a text.
type hold struct {
	text    string
	arrived chan struct{} // one for each request
	release chan struct{} // closed to let them all go
}

// newGate serves a script and points the project's runs at it.
func (p *project) newGate(script string) *gate {
	p.t.Helper()
	s, err := gateway.Load(p.write("script.json", script))
	if err != nil {
		p.t.Fatal(err)
	}
	g := &gate{t: p.t, token: gateway.File(p.path("token"))}
	if err := g.token.Rotate(); err != nil {
		p.t.Fatal(err)
	}
	if g.inner, err = gateway.New(s, gateway.Options{Token: g.token, Log: g}); err != nil {
		p.t.Fatal(err)
	}
	g.Server = httptest.NewServer(g)
	p.t.Cleanup(g.die)
	p.t.Cleanup(func() { p.noToken(g) }) // in any file of any run, however it ended
	p.env = append(p.env, "OPENAI_BASE_URL="+g.URL+"/v1", "MST_LLM_AUTH_COMMAND=cat "+string(g.token))
	return g
}

// die breaks every connection and refuses new ones.
func (g *gate) die() {
	g.inner.Close()
	g.CloseClientConnections()
	g.Close()
}

// hold keeps back the answers to prompts that contain text from now on.
func (g *gate) hold(text string) *hold {
	h := &hold{text: text, arrived: make(chan struct{}, 1000), release: make(chan struct{})}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.holds = append(g.holds, h)
	return h
}

// ServeHTTP implements http.Handler.
func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	for _, h := range g.holding(body) {
		h.arrived <- struct{}{}
		select {
		case <-h.release:
		case <-r.Context().Done():
			panic(http.ErrAbortHandler)
		}
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	g.inner.ServeHTTP(w, r)
}

func (g *gate) holding(body []byte) []*hold {
	g.mu.Lock()
	defer g.mu.Unlock()
	var out []*hold
	for _, h := range g.holds {
		if bytes.Contains(body, []byte(h.text)) {
			out = append(out, h)
		}
	}
	return out
}

// await waits for a request that the hold keeps: its trial is in the middle.
func (h *hold) await(t *testing.T) {
	t.Helper()
	select {
	case <-h.arrived:
	case <-time.After(patience):
		t.Fatalf("no request for %q in %s", h.text, patience)
	}
}

// Write takes the gateway's log.
func (g *gate) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.log.Write(p)
}

// asked counts the answered model requests whose prompt contains text.
func (g *gate) asked(text string) int {
	n := 0
	for _, e := range g.entries() {
		if strings.Contains(e.Prompt, text) && e.Status == http.StatusOK {
			n++
		}
	}
	return n
}

// entries is the gateway's log.
func (g *gate) entries() []gateway.Entry {
	g.mu.Lock()
	defer g.mu.Unlock()
	var out []gateway.Entry
	for lines := bufio.NewScanner(bytes.NewReader(g.log.Bytes())); lines.Scan(); {
		var e gateway.Entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			g.t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}
