package podman_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"path/filepath"
	"regexp"
	"sync"
	"testing"

	"github.com/berth-run/berth/backends/podman"
)

// proxy stands between a backend and the real Podman. It notes what passes, and a fault of the test's
// may answer in Podman's place.
type proxy struct {
	rig
	fault fault

	mu     sync.Mutex
	passed map[string]int // requests by step, those that were answered here included
	bodies map[string][]byte
}

// fault answers a request and tells so, or leaves it to Podman. n counts the requests of that step,
// from 1.
type fault func(w http.ResponseWriter, step string, n int) bool

// step is a request without what differs each time: "POST /containers/ID/start".
func step(r *http.Request) string {
	path := regexp.MustCompile(`^/v[0-9.]+/libpod`).ReplaceAllString(r.URL.Path, "")
	return r.Method + " " + regexp.MustCompile(`/[0-9a-f]{64}`).ReplaceAllString(path, "/ID")
}

const (
	stepCreate     = "POST /containers/create"
	stepStart      = "POST /containers/ID/start"
	stepExec       = "POST /containers/ID/exec"
	stepExecStart  = "POST /exec/ID/start"
	stepExecRemove = "POST /exec/ID/remove"
	stepKill       = "POST /containers/ID/kill"
	stepDelete     = "DELETE /containers/ID"
)

// throughProxy gives r's engine by another way, with r's image.
func (r rig) throughProxy(t *testing.T, f fault) *proxy {
	t.Helper()
	p := &proxy{fault: f, passed: map[string]int{}, bodies: map[string][]byte{}}
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &httptest.Server{Listener: l, Config: &http.Server{Handler: p.handler(podman.Socket(r.Backend))}}
	server.Start()
	t.Cleanup(server.Close)
	b, err := podman.New(t.Context(), podman.Options{URL: "unix://" + socket})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	p.rig = rig{b, r.ref}
	return p
}

func (p *proxy) handler(engine string) http.Handler {
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = "http", "d" },
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", engine)
		}},
		FlushInterval: -1,
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s, n := p.note(r)
		if p.fault == nil || !p.fault(w, s, n) {
			forward.ServeHTTP(w, r)
		}
	})
}

func (p *proxy) note(r *http.Request) (string, int) {
	s := step(r)
	var body []byte
	if s == stepCreate {
		body, _ = io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.passed[s]++
	p.bodies[s] = body
	return s, p.passed[s]
}

func (p *proxy) count(s string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.passed[s]
}

// created is the last create request, as it was sent.
func (p *proxy) created(t *testing.T) map[string]any {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	var m map[string]any
	if err := json.Unmarshal(p.bodies[stepCreate], &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// say answers as libpod does when something failed.
func say(w http.ResponseWriter, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusInternalServerError)
	_ = json.NewEncoder(w).Encode(map[string]any{"cause": "played", "message": message, "response": http.StatusInternalServerError})
}
