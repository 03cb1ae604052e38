package channel

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-run/berth/internal/inference/models"
	"github.com/berth-run/berth/internal/selfcheck"
	"github.com/berth-run/berth/internal/shardproto"
	"github.com/google/go-cmp/cmp"
)

func TestSmallCalls(t *testing.T) {
	s := newShard(t)
	c := dial(t, s.open(nil), Options{})
	report, err := c.SelfCheck(t.Context(), selfcheck.Expect{Pids: 7})
	if want := (selfcheck.Report{Limits: []selfcheck.Check{{Name: "pids", OK: true}}}); err != nil || !cmp.Equal(report, want) {
		t.Errorf("SelfCheck = %+v, %v", report, err)
	}
	for name, call := range map[string]struct {
		do  func(context.Context) error
		got chan struct{}
	}{
		"Collect":  {c.Collect, s.collected},
		"Keep":     {c.Keep, s.kept},
		"Shutdown": {c.Shutdown, s.ended},
	} {
		if name == "Shutdown" {
			continue // last, below: it closes the Client
		}
		if err := call.do(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		<-call.got
	}
	if err := c.Shutdown(t.Context()); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	<-s.ended
	if err := c.Keep(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("Keep after Shutdown = %v, want ErrClosed", err)
	}
	if c.Err() != nil {
		t.Errorf("Err after Shutdown = %v, want nil", c.Err())
	}
}

func TestWriteToken(t *testing.T) {
	s := newShard(t)
	c := dial(t, s.open(nil), Options{})
	for _, value := range []string{"first-secret", strings.Repeat("x", tokenMax)} {
		if err := c.WriteToken(t.Context(), TokenInference, []byte(value)); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(s.dir, "tokens", TokenInference)
		got, err := os.ReadFile(file)
		if err != nil || string(got) != value {
			t.Errorf("token file has %d bytes, %v; want %d", len(got), err, len(value))
		}
		for path, want := range map[string]os.FileMode{file: 0o600, filepath.Dir(file): 0o700} {
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
				t.Errorf("mode of %s = %v, %v; want %v", path, info.Mode(), err, want)
			}
		}
	}
	for _, name := range []string{"", "../x", "a/b", ".hidden", "-x", strings.Repeat("a", 129)} {
		err := c.WriteToken(t.Context(), name, []byte("planted-secret"))
		if !errors.Is(err, ErrInvalid) || strings.Contains(err.Error(), "planted-secret") {
			t.Errorf("WriteToken(%q) = %v, want ErrInvalid without the value", name, err)
		}
	}
	if err := c.WriteToken(t.Context(), "a", make([]byte, tokenMax+1)); !errors.Is(err, ErrInvalid) {
		t.Errorf("a token too long = %v, want ErrInvalid", err)
	}
	if files, _ := os.ReadDir(filepath.Join(s.dir, "tokens")); len(files) != 1 {
		t.Errorf("tokens folder holds %v, want one file", files)
	}
}

func TestMessagesBothWays(t *testing.T) {
	s := newShard(t)
	c := dial(t, s.open(nil), Options{})
	key := shardproto.Key{Variant: "v", CaseID: "c", Trial: 2}
	if err := s.Send(t.Context(), shardproto.Message{Type: shardproto.TypeAcquire, Key: &key}); err != nil {
		t.Fatal(err)
	}
	if m := <-c.Messages(); m.Type != shardproto.TypeAcquire || *m.Key != key {
		t.Errorf("coordinator got %+v", m)
	}
	if err := c.Send(t.Context(), shardproto.Message{Type: shardproto.TypeGranted, Key: &key}); err != nil {
		t.Fatal(err)
	}
	if m := <-s.Messages(); m.Type != shardproto.TypeGranted || *m.Key != key {
		t.Errorf("worker got %+v", m)
	}
	c.Close()
	if _, open := <-c.Messages(); open {
		t.Error("Messages is open after Close")
	}
}

// TestTunnel sends requests through the shard's gateway address to a real HTTP server at the
// coordinator's end, over two links, and finds the address closed in between.
func TestTunnel(t *testing.T) {
	s := newShard(t)
	c := dial(t, s.open(nil), Options{})
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.URL.Path) })}
	go server.Serve(c.Tunnel())
	t.Cleanup(func() { server.Close() })
	addr := s.TunnelAddr()
	if got := httpGet(t, addr); got != "/hello" {
		t.Errorf("through the tunnel: %q", got)
	}
	c.Close()
	detached(t, s)
	if _, err := net.Dial("tcp", addr); err == nil {
		t.Error("the gateway's address accepts while no coordinator is attached")
	}
	next := dial(t, s.open(nil), Options{})
	again := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "next") })}
	go again.Serve(next.Tunnel())
	t.Cleanup(func() { again.Close() })
	if got := httpGet(t, addr); got != "next" {
		t.Errorf("through the next coordinator's tunnel: %q", got)
	}
}

// detached waits until the worker has let go of its coordinator.
func detached(t *testing.T, s *shard) {
	t.Helper()
	s.Server.mu.Lock()
	a := s.cur
	s.Server.mu.Unlock()
	if a != nil {
		<-a.done
	}
}

func httpGet(t *testing.T, addr string) string {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := client.Get("http://" + addr + "/hello")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestProbeInference(t *testing.T) {
	const token = "probe-secret"
	tests := map[string]struct {
		handler http.HandlerFunc
		want    InferenceReport
	}{
		"openai shape": {answer(200, `{"object":"list","data":[{"id":"m1"},{"id":"m2"}]}`), InferenceReport{Status: 200, Models: []string{"m1", "m2"}}},
		"codex shape":  {answer(200, `{"models":[{"slug":"m3"}]}`), InferenceReport{Status: 200, Models: []string{"m3"}}},
		"empty list":   {answer(200, `{"data":[]}`), InferenceReport{Status: 200, Models: []string{}}},
		"unauthorized, token echoed": {
			func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(401)
				io.WriteString(w, "no such\n key: "+r.Header.Get("Authorization"))
			}, InferenceReport{Status: 401, Phase: models.PhaseStatus, Detail: "no such key: Bearer [token]"},
		},
		"coordinator's own answer": {
			func(w http.ResponseWriter, r *http.Request) {
				models.WriteFailure(w, 502, models.Failure{Phase: models.PhaseDNS, Message: "gw.example: no such host"})
			}, InferenceReport{Phase: models.PhaseDNS, Detail: "gw.example: no such host"},
		},
		"not JSON":   {answer(200, `<html>`), InferenceReport{Status: 200, Phase: models.PhaseBody, Detail: "the models list isn't JSON: invalid character '<' looking for beginning of value"}},
		"other JSON": {answer(200, `{}`), InferenceReport{Status: 200, Phase: models.PhaseBody, Detail: models.ErrNoList.Error()}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newShard(t)
			c := dial(t, s.open(nil), Options{})
			server := httptest.NewUnstartedServer(tt.handler)
			server.Listener.Close()
			server.Listener = c.Tunnel()
			server.Start()
			t.Cleanup(server.Close)
			if err := c.WriteToken(t.Context(), TokenInference, []byte(token)); err != nil {
				t.Fatal(err)
			}
			got, err := c.ProbeInference(t.Context(), InferenceProbe{Path: "/v1/models", Token: TokenInference})
			if err != nil || !cmp.Equal(got, tt.want) {
				t.Errorf("got %+v, %v; want %+v", got, err, tt.want)
			}
		})
	}
}

func answer(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.URL.Path != "/v1/models" || r.Header.Get("Authorization") != "Bearer probe-secret" {
			status, body = 400, "unexpected request"
		}
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

func TestProbeInferenceWithoutToken(t *testing.T) {
	s := newShard(t)
	c := dial(t, s.open(nil), Options{})
	if _, err := c.ProbeInference(t.Context(), InferenceProbe{Path: "/v1/models", Token: "absent"}); !errors.Is(err, ErrFailed) {
		t.Errorf("probe with no token file = %v, want ErrFailed", err)
	}
}

func TestDialSaysWhatIsWrong(t *testing.T) {
	refused := errors.New("exec refused")
	tests := map[string]struct {
		open Opener
		want string
	}{
		"exec fails":    {func(context.Context) (io.ReadWriteCloser, error) { return nil, refused }, "open channel: exec refused"},
		"takes nothing": {func(context.Context) (io.ReadWriteCloser, error) { return newUnwritable(refused), nil }, "attach to the shard: the shard's worker hung up: exec refused"},
		"ends at once":  {pipeTo(func(c net.Conn) { c.Close() }), "attach to the shard: the shard's worker hung up"},
		"says nonsense": {pipeTo(func(c net.Conn) { go io.Copy(io.Discard, c); c.Write([]byte("no such file or folder\n")) }), "attach to the shard: the shard's worker hung up"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := Dial(t.Context(), tt.open, Options{}); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("Dial = %v, want %s…", err, tt.want)
			}
		})
	}
}

func pipeTo(far func(net.Conn)) Opener {
	return func(context.Context) (io.ReadWriteCloser, error) {
		a, b := net.Pipe()
		go far(b)
		return a, nil
	}
}

// unwritable fails its writes with a reason, while a read waits for the close.
type unwritable struct {
	*io.PipeReader
	err error
}

func newUnwritable(err error) *unwritable {
	r, _ := io.Pipe()
	return &unwritable{r, err}
}

func (u *unwritable) Write([]byte) (int, error) { return 0, u.err }

func TestDialHonoursContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("user's cause")
	_, err := Dial(ctx, pipeTo(func(c net.Conn) {
		c.Read(make([]byte, 1)) // the attach is on its way, and is never answered
		cancel(cause)
		io.Copy(io.Discard, c)
	}), Options{})
	if !errors.Is(err, cause) {
		t.Errorf("Dial = %v, want the context's cause", err)
	}
}

func TestHugeMessageIsRefused(t *testing.T) {
	s := newShard(t)
	c := dial(t, s.open(nil), Options{})
	err := c.Send(t.Context(), shardproto.Message{Type: shardproto.TypeCancel, Reason: string(bytes.Repeat([]byte("x"), messageMax))})
	if !errors.Is(err, ErrInvalid) {
		t.Errorf("Send = %v, want ErrInvalid", err)
	}
}
