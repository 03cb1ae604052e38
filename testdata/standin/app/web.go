package app

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"sync"

	"github.com/berth-run/berth/testdata/standin"
)

// web serves the page on a loopback port, to the one browser that comes with the key: a key in the
// address, good once, is exchanged for a cookie, so that what other programs see of the browser's
// arguments is of no use to them.
type web struct {
	stage  *stage
	host   string
	cookie string

	mu   sync.Mutex
	keys map[string]bool // not used yet
}

const cookieName = "chatgpt"

// policy keeps the page to what comes from here.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// serve serves the page until the app ends.
func serve(s *stage) (*web, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	w := &web{stage: s, host: l.Addr().String(), cookie: rand.Text(), keys: map[string]bool{}}
	page, err := fs.Sub(standin.Files, "page")
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /", http.FileServerFS(page))
	mux.HandleFunc("GET /labels.json", func(rw http.ResponseWriter, r *http.Request) {
		http.ServeFileFS(rw, r, standin.Files, "labels.json")
	})
	mux.HandleFunc("GET /views", w.views)
	mux.HandleFunc("POST /events", w.events)
	go func() { _ = http.Serve(l, w.guard(mux)) }() // until the app ends
	return w, nil
}

// address is the page's for one more browser; more is added to its query.
func (w *web) address(more string) string {
	key := rand.Text()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.keys[key] = true
	return fmt.Sprintf("http://%s/?key=%s%s", w.host, key, more)
}

// guard lets in who has the cookie, or the key.
func (w *web) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Security-Policy", policy)
		rw.Header().Set("Cache-Control", "no-store")
		switch c, err := r.Cookie(cookieName); {
		case r.Host != w.host:
		case err == nil && same(c.Value, w.cookie):
			next.ServeHTTP(rw, r)
			return
		case r.URL.Path == "/" && w.unlock(r.URL.Query().Get("key")):
			http.SetCookie(rw, &http.Cookie{Name: cookieName, Value: w.cookie, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
			next.ServeHTTP(rw, r)
			return
		}
		http.Error(rw, "no", http.StatusForbidden)
	})
}

func (w *web) unlock(key string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for k := range w.keys {
		if same(key, k) {
			delete(w.keys, k)
			return true
		}
	}
	return false
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// views tells the page what to show, as it changes.
func (w *web) views(rw http.ResponseWriter, r *http.Request) {
	rw.Header().Set("Content-Type", "text/event-stream")
	flush := http.NewResponseController(rw)
	for {
		v, changed := w.stage.look()
		data, err := json.Marshal(v)
		if err != nil {
			return
		}
		fmt.Fprintf(rw, "data: %s\n\n", data)
		if flush.Flush() != nil {
			return
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}

// maxEvent bounds an event, in bytes: a prompt may be large.
const maxEvent = 4 << 20

func (w *web) events(rw http.ResponseWriter, r *http.Request) {
	var e event
	if err := json.NewDecoder(http.MaxBytesReader(rw, r.Body, maxEvent)).Decode(&e); err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	w.stage.take(e)
	rw.WriteHeader(http.StatusNoContent)
}
