package engine

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/codetest"
	"github.com/berth-run/berth/session/client"
)

// appServer is a script that speaks as an app server does up to the question for the servers' status.
const appServer = `
while read -r line; do
  case $line in
    *'"initialize"'*) printf '%s\n' '{"id":0,"result":{}}' ;;
    *command/exec*) printf '%s\n' '{"id":1,"result":{"exitCode":0,"stdout":"berth codex\n"}}' ;;
    *mcpServerStatus*) STATUS ;;
  esac
done`

// TestProbe: what a probe comes to, by what the app server says of its servers.
func TestProbe(t *testing.T) {
	say := func(json string) string { return `printf '%s\n' '` + json + `'` }
	refuse := func(rpc string) string { return say(`{"id":2,"error":` + rpc + `}`) }
	for name, tc := range map[string]struct {
		status string // what the script does when it's asked
		want   code.Code
		reason string // for MCPStatus
		text   string
	}{
		"ready":            {say(`{"id":2,"result":{"data":[{"name":"notes","tools":{"add":{}},"authStatus":"unsupported"}]}}`), "", "ready", ""},
		"unknown":          {say(`{"id":2,"result":{"data":[]}}`), code.MCPServerNotReady, "not-ready", "Codex doesn't know it"},
		"no tools":         {say(`{"id":2,"result":{"data":[{"name":"notes","tools":{},"authStatus":"unsupported"}]}}`), code.MCPServerNotReady, "not-ready", "too few tools in Codex (0 < 1)"},
		"not signed in":    {say(`{"id":2,"result":{"data":[{"name":"notes","tools":{"add":{}},"authStatus":"notLoggedIn"}]}}`), code.MCPServerNotReady, "not-ready", `"notLoggedIn"`},
		"unsupported":      {refuse(`{"code":-32601,"message":"no"}`), code.MCPStatusUnavailable, "unsupported-method", ""},
		"other params":     {refuse(`{"code":-32602,"message":"no"}`), code.MCPStatusUnavailable, "unsupported-method-or-params", ""},
		"an error":         {refuse(`{"code":-1,"message":"no"}`), code.MCPStatusUnavailable, "rpc-error", ""},
		"not allowed":      {refuse(`{"code":-1,"message":"HTTP 401 Unauthorized"}`), code.MCPStatusUnavailable, "http-auth-error", ""},
		"not found":        {refuse(`{"code":-1,"message":"status: 404 Not Found"}`), code.MCPStatusUnavailable, "http-client-error", ""},
		"broken":           {refuse(`{"code":-1,"message":"HTTP status 503"}`), code.MCPStatusUnavailable, "http-server-error", ""},
		"another shape":    {say(`{"id":2,"result":{"data":3}}`), code.MCPStatusUnavailable, "invalid-response", ""},
		"a question":       {say(`{"id":9,"method":"item/tool/call","params":{}}`) + "; " + say(`{"id":2,"result":{"data":[]}}`), code.MCPStatusUnavailable, "server-request-unsupported", ""},
		"its end":          {"exit 0", code.MCPStatusUnavailable, "unexpected-eof", ""},
		"a very long line": {"head -c 300000 /dev/zero | tr '\\0' x; echo", code.MCPStatusUnavailable, "output-limit", ""},
		"nothing":          {":", code.MCPStatusUnavailable, "timeout", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, _ := scripted(t, strings.ReplaceAll(appServer, "STATUS", tc.status))
			ctx := context.Background()
			if tc.reason == "timeout" {
				limited, cancel := context.WithTimeout(ctx, 20*time.Second)
				defer cancel()
				ctx = limited
			}
			var ready client.Readiness
			err := c.Probe(ctx, "berth", []client.Server{{Label: "notes", Command: "/notes"}}, &ready)
			if code.Of(err) != tc.want || ready.MCPStatus != tc.reason || err != nil && !strings.Contains(err.Error(), tc.text) {
				t.Errorf("error %v, status %q; want %s, %q and %q", err, ready.MCPStatus, tc.want, tc.reason, tc.text)
			}
			codetest.Saw(t, code.Of(err))
		})
	}
}
