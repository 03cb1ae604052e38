package mcp

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/mcp/mcptest"
	"github.com/berth-run/berth/internal/redact"
	"github.com/berth-run/berth/session/client"
)

func TestMain(m *testing.M) {
	mcptest.Main()
	os.Exit(m.Run())
}

const token = "tok-0123456789"

// stdio is the test binary as a server.
func stdio(t *testing.T, tools, fault string) client.Server {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return client.Server{Label: "notes", Transport: TransportStdio, Command: self, Env: map[string]string{
		mcptest.EnvTools: tools, mcptest.EnvFault: fault, mcptest.EnvSecret: token,
	}}
}

// overHTTP is a server that wants the token.
func overHTTP(t *testing.T, wrap func(http.Handler) http.Handler) client.Server {
	t.Helper()
	s := mcptest.NewServer(2)
	var h http.Handler = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
	h = wrap(h)
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return client.Server{Label: "wiki", Transport: TransportHTTP, URL: srv.URL + "/mcp?key=k-secret", Token: token}
}

func wantsToken(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+token {
			http.Error(w, "who are you, "+r.Header.Get("Authorization"), http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r)
	})
}

func refusing(t *testing.T) client.Server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	return client.Server{Label: "wiki", Transport: TransportHTTP, URL: "http://" + addr + "/mcp"}
}

func with(s client.Server, change func(*client.Server)) client.Server {
	change(&s)
	return s
}

func TestPreflight(t *testing.T) {
	everyone := func(h http.Handler) http.Handler { return h }
	denied := func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, "no "+r.Header.Get("Authorization"), http.StatusForbidden)
		})
	}
	tests := []struct {
		name   string
		server client.Server
		tools  int
		err    string // "" for ready
	}{
		{"stdio", stdio(t, "3", ""), 3, ""},
		{"enough tools", with(stdio(t, "3", ""), func(s *client.Server) { s.MinTools = 3 }), 3, ""},
		{"too few tools", with(stdio(t, "3", ""), func(s *client.Server) { s.MinTools = 4 }), 3, "too few tools (3 < 4)"},
		{"no tools", stdio(t, "0", ""), 0, "too few tools (0 < 1)"},
		{"ends at once", stdio(t, "1", mcptest.FaultExit), 0, "the server ended (exit status 3): mcptest: told to fail with [redacted]"},
		{"hangs", stdio(t, "1", mcptest.FaultHang), 0, "no list of tools within 2s"},
		{"no such program", client.Server{Label: "x", Transport: TransportStdio, Command: "/no/such"}, 0, "no such file"},
		{"http", overHTTP(t, everyone), 2, ""},
		{"http with a bearer", overHTTP(t, wantsToken), 2, ""},
		{"http denied", overHTTP(t, denied), 0, "Forbidden"},
		{"http refused", refusing(t), 0, "connection refused"},
		{"unknown transport", client.Server{Label: "x", Transport: "pigeon"}, 0, `unknown transport "pigeon"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			known := &redact.Set{}
			known.Add(token)
			o := Options{Redact: known, Env: []string{"PATH=/usr/bin:/bin"}, Dir: t.TempDir(), Timeout: time.Minute}
			if tt.server.Env[mcptest.EnvFault] == mcptest.FaultHang {
				o.Timeout = 2 * time.Second // whatever it has come to by then
			}
			all, err := Preflight(context.Background(), []client.Server{tt.server}, o)
			got := all[0]
			if got.Label != tt.server.Label || got.ToolCount != tt.tools {
				t.Errorf("status %+v", got)
			}
			if (tt.err == "") != (got.Status == StatusReady && err == nil && got.Error == "") {
				t.Fatalf("status %+v, error %v", got, err)
			}
			if !strings.Contains(got.Error, tt.err) {
				t.Errorf("error %q, want one with %q", got.Error, tt.err)
			}
			if err != nil && code.Of(err) != code.MCPPreflightFailed {
				t.Errorf("error %v", err)
			}
			if strings.Contains(got.Error, token) || strings.Contains(got.Error, "k-secret") {
				t.Errorf("a secret in %q", got.Error)
			}
		})
	}
}

func TestPreflightNamesEveryFailure(t *testing.T) {
	bad := with(stdio(t, "1", ""), func(s *client.Server) { s.Label, s.MinTools = "few", 2 })
	all, err := Preflight(context.Background(), []client.Server{
		stdio(t, "1", ""), bad, {Label: "odd", Transport: "pigeon"},
	}, Options{Dir: t.TempDir()})
	want := `mcp_preflight_failed: MCP server few: too few tools (1 < 2); MCP server odd: unknown transport "pigeon"`
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if len(all) != 3 || all[0].Status != StatusReady {
		t.Errorf("statuses %+v", all)
	}
}

func TestPreflightCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	all, err := Preflight(ctx, []client.Server{stdio(t, "1", mcptest.FaultHang)}, Options{Dir: t.TempDir()})
	if err == nil || all[0].Status != StatusFailed {
		t.Errorf("status %+v, error %v", all[0], err)
	}
}
