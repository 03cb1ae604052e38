package chatgpt

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/godbus/dbus/v5"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/berth-run/berth/internal/mcp/mcptest"
	"github.com/berth-run/berth/session/client"
)

// TestEnvironmentOfCommands: an agent finds the app's environment, and nothing of the worker's.
func TestEnvironmentOfCommands(t *testing.T) {
	t.Setenv("BERTH_TEST_INHERITED", "yes")
	r := newRig(t, script, plain)
	r.batch.Options = json.RawMessage(`{"env": {"FROM_CONFIG": "yes"}}`)
	s := r.open()
	env := r.passes(s, client.Trial{CaseID: "env", Prompt: "env"}).Trace.FinalText
	for text, want := range map[string]bool{
		"FROM_CONFIG=yes": true, "BERTH_TEST_INHERITED": false, "HOME=" + r.client.opts.Home: true,
		fmt.Sprintf("CODEX_HOME=%s/.codex", r.client.opts.Home): true, "GTK_MODULES=gail:atk-bridge": true,
	} {
		if strings.Contains(env, text) != want {
			t.Errorf("%s in the environment: %v, want %v:\n%s", text, !want, want, env)
		}
	}
}

// TestBearer: an http server's bearer goes to the app and its engine, and neither to a second start nor to
// what the agent runs.
func TestBearer(t *testing.T) {
	const bearer = "bearer-0123456789"
	server := mcptest.NewServer(2)
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Header.Get("Authorization") != "Bearer "+bearer {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, req)
	}))
	t.Cleanup(web.Close) // after the batch's end, which ends all that is connected
	r := newRig(t, script, plain)
	r.batch.Servers = []client.Server{{Label: "my-notes", Transport: "http", URL: web.URL, Token: bearer, MinTools: 2}}
	s := r.open()
	res := r.passes(s, client.Trial{CaseID: "http", Prompt: "add 19 and 23"})
	if sel := res.Telemetry["mcpSelection"].(map[string]any); sel["status"] != "ok" || !strings.Contains(res.Trace.FinalText, "42") {
		t.Errorf("selection %v, answer %q", sel, res.Trace.FinalText)
	}
	if env := r.passes(s, client.Trial{CaseID: "env", Prompt: "env"}).Trace.FinalText; !strings.Contains(env, "CODEX_HOME=") || strings.Contains(env, "MST_CHATGPT") {
		t.Errorf("a command's environment:\n%s", env)
	}
	for name, want := range map[string]bool{"app.env": true, "second.env": false} {
		b, err := os.ReadFile(filepath.Join(r.dir, name))
		if must(t, err); strings.Contains(string(b), "MST_CHATGPT_MCP_TOKEN_0="+bearer) != want {
			t.Errorf("%s has the bearer: %v, want %v", name, !want, want)
		}
	}
}

// TestAPIKey: the real Codex stores the key in the desktop's keyring, which is empty after the batch.
func TestAPIKey(t *testing.T) {
	r := newRig(t, script, plain)
	key := filepath.Join(r.dir, "key")
	must(t, os.WriteFile(key, []byte("sk-test-0123456789\n"), 0o600))
	r.batch.Inference = client.Inference{Mode: client.ModeAPIKey, TokenFile: key}
	s := r.open()
	if ready := s.Readiness(); ready.Login != "verified" || ready.Inference != "api-key" {
		t.Errorf("readiness %+v", ready)
	}
	if n := r.secrets(); n == 0 {
		t.Error("nothing is in the keyring")
	}
	if _, err := os.Stat(filepath.Join(r.client.opts.Home, ".codex", "auth.json")); err == nil {
		t.Error("the key is in a file")
	}
	must(t, s.Close(context.Background()))
	if n := r.secrets(); n != 0 {
		t.Errorf("%d secrets are left in the keyring", n)
	}
}

// secrets counts what is in the login keyring.
func (r *rig) secrets() int {
	r.t.Helper()
	v, err := r.desktop.Bus().Object("org.freedesktop.secrets", "/org/freedesktop/secrets/collection/login").GetProperty("org.freedesktop.Secret.Collection.Items")
	must(r.t, err)
	items, _ := v.Value().([]dbus.ObjectPath)
	return len(items)
}
