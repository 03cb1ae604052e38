package inference

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-run/berth/internal/inference/models"
	"github.com/berth-run/berth/internal/redact"
	"github.com/berth-run/berth/session/client"
)

const tokenInShard = "token-in-the-shard"

// rig is a gateway and the shard's side of a tunnel to it.
type rig struct {
	way    *Way
	tunnel *httptest.Server
}

func newRig(t *testing.T, base string) *rig {
	t.Helper()
	secrets := new(redact.Set)
	way, err := ToGateway(base, NewSource((&counting{}).fetch, time.Hour, secrets), secrets)
	if err != nil {
		t.Fatal(err)
	}
	return &rig{way: way}
}

func (r *rig) start(t *testing.T) *rig {
	t.Helper()
	r.tunnel = httptest.NewServer(r.way.Handler(0))
	t.Cleanup(func() {
		r.tunnel.Close()
		r.way.transport.CloseIdleConnections()
	})
	return r
}

// do sends a request through the tunnel.
func (r *rig) do(t *testing.T, method, path, token, body string) (*http.Response, []byte, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, r.tunnel.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := r.tunnel.Client().Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return resp, data, err
}

func TestTunnelPassesOn(t *testing.T) {
	var got *http.Request
	var sent []byte
	gateway := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		sent, _ = io.ReadAll(r.Body)
		w.Header().Set(models.HeaderPhase, "forged")
		fmt.Fprint(w, "the answer")
	}))
	defer gateway.Close()
	r := newRig(t, gateway.URL+"/openai/v1?api-version=7")
	r.way.transport.TLSClientConfig = gateway.Client().Transport.(*http.Transport).TLSClientConfig
	r.start(t)
	resp, body, err := r.do(t, "POST", "/openai/v1/responses?x=1", tokenInShard, "the question")
	if err != nil || resp.StatusCode != 200 || string(body) != "the answer" {
		t.Fatalf("%v %v %q", resp, err, body)
	}
	if resp.Header.Get(models.HeaderPhase) != "" {
		t.Error("the gateway could forge a failure of the tunnel")
	}
	want := []string{"/openai/v1/responses?api-version=7&x=1", strings.TrimPrefix(gateway.URL, "https://"), "Bearer " + tokenInShard, "the question", ""}
	have := []string{got.RequestURI, got.Host, got.Header.Get("Authorization"), string(sent), got.Header.Get("X-Forwarded-For")}
	if d := cmp.Diff(want, have); d != "" {
		t.Errorf("the gateway saw (-want +got):\n%s", d)
	}
	stats := Stats{Requests: 1, Statuses: map[int]int{200: 1}, Failures: map[string]int{}, SentBytes: 12, ReceivedBytes: 10}
	if d := cmp.Diff(stats, r.way.Stats(0)); d != "" {
		t.Errorf("stats (-want +got):\n%s", d)
	}
}

func TestTunnelStaysBelowTheBase(t *testing.T) {
	var reached atomic.Int32
	gateway := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer gateway.Close()
	r := newRig(t, gateway.URL+"/v1").start(t)
	for _, path := range []string{"/", "/v2/models", "/v1x", "/v1/../admin", "/v1/%2e%2e/admin", "/v1/..%2fadmin", "//v1/models", "/v1//models"} {
		// Not by net/http's client, which would clean the path.
		c, err := net.Dial("tcp", r.tunnel.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(c, "GET %s HTTP/1.0\r\n\r\n", path)
		answer, err := io.ReadAll(c)
		c.Close()
		if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.0 404 ") {
			t.Errorf("%s: %v\n%s", path, err, answer)
		}
	}
	if reached.Load() != 0 || r.way.Stats(0).Refused != 8 {
		t.Errorf("%d reached the gateway; %+v", reached.Load(), r.way.Stats(0))
	}
}

// Each failure names the phase that it was in.
func TestTunnelFailures(t *testing.T) {
	hang := make(chan struct{})
	gateway := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-hang:
		case <-r.Context().Done():
		}
	}))
	gateway.Config.ErrorLog = log.New(io.Discard, "", 0) // of the handshakes that fail on purpose
	t.Cleanup(gateway.Close)
	t.Cleanup(func() { close(hang) })
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	silent := listen(t) // takes connections and says nothing, so a handshake hangs
	closed := listen(t)
	closed.Close()
	trusted := x509.NewCertPool()
	trusted.AddCert(gateway.Certificate())

	for _, tt := range []struct {
		name, base string
		roots      *x509.CertPool
		status     int
		phase      string
		message    string
	}{
		{"no such name", "https://gateway.invalid/v1", nil, 502, models.PhaseDNS, "gateway.invalid"},
		{"closed port", "http://" + closed.Addr().String() + "/v1", nil, 502, models.PhaseConnect, "refused"},
		{"unknown authority", gateway.URL + "/v1", nil, 502, models.PhaseTLS, "certificate"},
		{"not TLS", strings.Replace(plain.URL, "http:", "https:", 1) + "/v1", nil, 502, models.PhaseTLS, ""},
		{"TLS hangs", "https://" + silent.Addr().String() + "/v1", nil, 504, models.PhaseTLS, "no answer within"},
		{"the answer hangs", gateway.URL + "/v1", trusted, 504, models.PhaseStatus, "no answer within"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, tt.base)
			r.way.timeout = time.Minute
			if tt.status == http.StatusGatewayTimeout {
				r.way.timeout = 8 * time.Second // to come to the phase that hangs, on a machine that is busy, too
			}
			if tt.roots != nil {
				r.way.transport.TLSClientConfig = gateway.Client().Transport.(*http.Transport).TLSClientConfig
			}
			r.start(t)
			resp, body, err := r.do(t, "GET", "/v1/models", tokenInShard, "")
			if err != nil {
				t.Fatal(err)
			}
			f, ok := models.FailureOf(resp.Header, body)
			if !ok || resp.StatusCode != tt.status || f.Phase != tt.phase || f.Code != "inference_unavailable" || !strings.Contains(f.Message, tt.message) {
				t.Errorf("status %d, %+v", resp.StatusCode, f)
			}
			if n := r.way.Stats(0).Failures[tt.phase]; n != 1 {
				t.Errorf("counted %d times", n)
			}
		})
	}
}

// A gateway that answers to the hanging up has not answered in time.
func TestPhaseGivenUp(t *testing.T) {
	ctx, giveUp := context.WithCancel(t.Context())
	p := &phase{ctx: ctx}
	hooks := p.trace()
	hooks.GotConn(httptrace.GotConnInfo{})
	giveUp()
	hooks.GotFirstResponseByte()
	if got := p.String(); got != models.PhaseStatus {
		t.Errorf("phase %s, want %s", got, models.PhaseStatus)
	}
}

// A shard that hangs up says nothing about the gateway.
func TestTunnelGivenUp(t *testing.T) {
	reached := make(chan struct{})
	gateway := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(reached)
		<-r.Context().Done()
	}))
	defer gateway.Close()
	r := newRig(t, gateway.URL+"/v1")
	ctx, cancel := context.WithCancel(t.Context())
	req := httptest.NewRequestWithContext(ctx, "POST", "/v1/responses", nil)
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.way.Handler(0).ServeHTTP(httptest.NewRecorder(), req)
	}()
	<-reached
	cancel()
	<-done
	want := Stats{Requests: 1, GivenUp: 1, Statuses: map[int]int{}, Failures: map[string]int{}}
	if d := cmp.Diff(want, r.way.Stats(0)); d != "" {
		t.Errorf("stats (-want +got):\n%s", d)
	}
}

// A private CA in SSL_CERT_FILE is trusted. Go reads the variable once, so a second process asks.
func TestTunnelTrustsSSLCertFile(t *testing.T) {
	const target = "INFERENCE_TEST_TARGET"
	if base := os.Getenv(target); base != "" {
		resp, body, err := newRig(t, base).start(t).do(t, "GET", "/v1/models", tokenInShard, "")
		if err != nil || resp.StatusCode != 200 {
			t.Fatalf("%v, %v, %s", resp, err, body)
		}
		return
	}
	if runtime.GOOS != "linux" {
		t.Skip("SSL_CERT_FILE is read on Linux only")
	}
	gateway := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer gateway.Close()
	file := filepath.Join(t.TempDir(), "ca.pem")
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: gateway.Certificate().Raw})
	if err := os.WriteFile(file, ca, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), "SSL_CERT_FILE="+file, target+"="+gateway.URL+"/v1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// A stream comes as it's sent, and ends as it ended: a cut is a cut.
func TestTunnelStreams(t *testing.T) {
	next := make(chan bool, 1)
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for <-next {
			fmt.Fprint(w, "data: x\n\n")
			http.NewResponseController(w).Flush()
		}
		panic(http.ErrAbortHandler)
	}))
	defer gateway.Close()
	r := newRig(t, gateway.URL+"/v1").start(t)
	next <- true
	resp, err := http.Post(r.tunnel.URL+"/v1/responses", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	buf := make([]byte, 9)
	for range 3 {
		if _, err := io.ReadFull(resp.Body, buf); err != nil || string(buf) != "data: x\n\n" {
			t.Fatalf("%q, %v", buf, err)
		}
		next <- true
	}
	io.ReadFull(resp.Body, buf)
	next <- false
	if _, err := resp.Body.Read(buf); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the stream ended with %v, want an unexpected end", err)
	}
}

// A 401 reaches the shard after its token file has the new token.
func TestTunnelRenewsAfter401(t *testing.T) {
	accepted := atomic.Value{}
	accepted.Store("token-number-2")
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+accepted.Load().(string) {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer gateway.Close()
	for _, broker := range []bool{false, true} {
		t.Run(fmt.Sprintf("broker=%v", broker), func(t *testing.T) {
			r := newRig(t, gateway.URL+"/v1")
			if broker {
				if err := r.way.Broker(); err != nil {
					t.Fatal(err)
				}
			}
			r.start(t)
			var file atomic.Value
			write := func(_ context.Context, token []byte) error { file.Store(string(token)); return nil }
			if err := r.way.Provide(t.Context(), 0, write, func(err error) { t.Error(err) }); err != nil {
				t.Fatal(err)
			}
			for _, want := range []int{401, 200} {
				resp, _, err := r.do(t, "POST", "/v1/responses", file.Load().(string), "")
				if err != nil || resp.StatusCode != want {
					t.Fatalf("%v, %v; want %d", resp, err, want)
				}
			}
			if inShard := strings.Contains(file.Load().(string), "token-number"); inShard == broker {
				t.Errorf("the shard has %q", file.Load())
			}
		})
	}
}

// In broker mode one shard's ticket is worth nothing in another's tunnel, and nothing else is taken.
func TestBrokerTickets(t *testing.T) {
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.Header.Get("Authorization"))
	}))
	defer gateway.Close()
	r := newRig(t, gateway.URL+"/v1")
	if err := r.way.Broker(); err != nil {
		t.Fatal(err)
	}
	r.start(t)
	tickets := make([]string, 2)
	for i := range tickets {
		if err := r.way.Provide(t.Context(), i, func(_ context.Context, b []byte) error { tickets[i] = string(b); return nil }, nil); err != nil {
			t.Fatal(err)
		}
	}
	for token, want := range map[string]int{tickets[0]: 200, tickets[1]: 401, "token-number-1": 401, "": 401} {
		resp, body, err := r.do(t, "GET", "/v1/models", token, "")
		if err != nil || resp.StatusCode != want {
			t.Fatalf("%q: %v, %v; want %d", token, resp, err, want)
		}
		if want == 200 && string(body) != "Bearer token-number-1" {
			t.Errorf("the gateway saw %q", body)
		}
	}
	if got := r.way.secrets.String(tickets[1]); got != redact.Mask {
		t.Errorf("the ticket isn't registered: %q", got)
	}
}

func TestAPIKeyModeHasNoTunnel(t *testing.T) {
	way, err := FromEnv(env(map[string]string{EnvAPIKey: "sk-1234567890"}), new(redact.Set))
	if err != nil || way.Mode() != client.ModeAPIKey || way.Handler(0) != nil {
		t.Errorf("%v, %v", way, err)
	}
	if err := way.Broker(); !errors.Is(err, ErrBrokerMode) {
		t.Errorf("got %v", err)
	}
}
