package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// serveCalc makes the test binary an MCP server with one tool, for Codex to start.
const serveCalc = "GATEWAY_TEST_SERVE_CALC"

func TestMain(m *testing.M) {
	if os.Getenv(serveCalc) != "" {
		if err := calcServer().Run(context.Background(), &mcp.StdioTransport{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func calcServer() *mcp.Server {
	type sum struct {
		A int `json:"a"`
		B int `json:"b"`
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "calc", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "add", Description: "adds"}, func(_ context.Context, _ *mcp.CallToolRequest, in sum) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprint(in.A + in.B)}}}, nil, nil
	})
	return s
}

// codexHome is a Codex with a profile of its own, whose provider is a scripted gateway.
type codexHome struct {
	t      *testing.T
	binary string
	home   string
	token  File
	log    *bytes.Buffer
}

// newCodex starts a gateway with the script and writes a profile for it. The home isn't below /tmp:
// Codex refuses to put its helpers there.
func newCodex(t *testing.T, script string) *codexHome {
	t.Helper()
	if testing.Short() {
		t.Skip("runs the real Codex: not with -short")
	}
	binary := os.Getenv("BERTH_CODEX")
	if binary == "" {
		t.Skip("needs the real Codex: set BERTH_CODEX to the binary of npm's @openai/codex")
	}
	user, err := os.UserHomeDir()
	check(t, err)
	home, err := os.MkdirTemp(user, "berth-gateway-test-*")
	check(t, err)
	t.Cleanup(func() { check(t, os.RemoveAll(home)) })
	c := &codexHome{t: t, binary: binary, home: home, token: File(filepath.Join(home, "token")), log: &bytes.Buffer{}}
	check(t, c.token.Rotate())
	s, err := Parse("script.json", []byte(script))
	check(t, err)
	g, err := New(s, Options{Token: c.token, Log: c.log})
	check(t, err)
	url, stop, err := g.Start("127.0.0.1:0")
	check(t, err)
	t.Cleanup(func() { check(t, stop()) })
	self, err := os.Executable()
	check(t, err)
	check(t, os.WriteFile(filepath.Join(home, "config.toml"), fmt.Appendf(nil, `
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "danger-full-access"
web_search = "disabled"
[model_providers.scripted]
name = "scripted"
base_url = %q
wire_api = "responses"
[model_providers.scripted.auth]
command = "/bin/cat"
args = [%q]
refresh_interval_ms = 60000
[mcp_servers.calc]
command = %q
env = { %s = "1" }
`, url, string(c.token), self, serveCalc), 0o600))
	return c
}

// run is the outcome of one `codex exec`.
type run struct {
	final string // the last agent message
	usage struct {
		Input     int64 `json:"input_tokens"`
		Cached    int64 `json:"cached_input_tokens"`
		Output    int64 `json:"output_tokens"`
		Reasoning int64 `json:"reasoning_output_tokens"`
	}
	failed string
	raw    string
}

func (c *codexHome) exec(model, prompt string) run {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.binary, "exec", "--strict-config", "--skip-git-repo-check", "--json", "--model", model, "--", prompt)
	cmd.Dir = c.home
	cmd.Env = []string{"CODEX_HOME=" + c.home, "HOME=" + c.home, "PATH=/usr/bin:/bin", "RUST_LOG=error"}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, _ := cmd.Output() // a failed turn is an exit of 1; the events say which
	r := run{raw: string(out) + stderr.String()}
	for line := range strings.Lines(string(out)) {
		var ev struct {
			Type  string
			Item  struct{ Type, Text string }
			Error struct{ Message string }
			Usage json.RawMessage
		}
		check(c.t, json.Unmarshal([]byte(line), &ev))
		switch ev.Type {
		case "item.completed":
			if ev.Item.Type == "agent_message" {
				r.final = ev.Item.Text
			}
		case "turn.completed":
			check(c.t, json.Unmarshal(ev.Usage, &r.usage))
		case "turn.failed":
			r.failed = ev.Error.Message
		}
	}
	return r
}

// entries are the log's requests to /v1/responses so far.
func (c *codexHome) entries() []Entry {
	c.t.Helper()
	var all []Entry
	for line := range bytes.Lines(c.log.Bytes()) {
		var e Entry
		check(c.t, json.Unmarshal(line, &e))
		if e.Path == "/v1/responses" {
			all = append(all, e)
		}
	}
	return all
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

const toolScript = `{
  "models": ["gpt-5.5", "gpt-6-luna", "acme-1"],
  "usage": {"input": 100, "cached": 40, "output": 10, "reasoning": 4},
  "rules": [
    {"name": "plain", "match": {"exact": "say hi"}, "steps": [{"text": "Hi, this is {{model}}."}]},
    {"name": "sum", "match": {"contains": "add"}, "steps": [
      {"text": "I'll add.", "mcp": {"server": "calc", "tool": "add", "arguments": {"a": 19, "b": 23}}},
      {"text": "It is {{output}}."}]},
    {"name": "shell", "match": {"regex": "^run"}, "steps": [
      {"command": {"cmd": "printf 'one\\ntwo\\n'"}},
      {"command": {"cmd": "echo three"}},
      {"text": "{{output 1}}/{{output 2}}"}]}
  ]
}`

func TestCodexTools(t *testing.T) {
	for _, model := range []struct{ name, kind string }{
		{"gpt-5.5", kindClassic}, {"acme-1", kindClassic}, {"gpt-6-luna", kindCode},
	} {
		t.Run(model.name, func(t *testing.T) {
			for prompt, want := range map[string]struct {
				final    string
				requests int64
			}{
				"say hi":        {"Hi, this is " + model.name + ".", 1},
				"please add":    {"It is 42.", 2},
				"run something": {"one\ntwo/three", 3},
			} {
				c := newCodex(t, toolScript)
				r := c.exec(model.name, prompt)
				if r.final != want.final {
					t.Errorf("%s: the last message is %q, want %q\n%s\n%s", prompt, r.final, want.final, r.raw, c.log)
				}
				if got, n := r.usage, want.requests; got.Input != 100*n || got.Cached != 40*n || got.Output != 10*n || got.Reasoning != 4*n {
					t.Errorf("%s: usage %+v for %d requests", prompt, got, n)
				}
				for i, e := range c.entries() {
					if e.Kind != model.kind || e.Step != i+1 || e.Prompt != prompt || e.Status != 200 || e.TurnID == "" || e.SessionID == "" {
						t.Errorf("%s: request %d: %+v", prompt, i, e)
					}
				}
				if strings.Contains(r.raw, "ERROR") {
					t.Errorf("%s: Codex complains:\n%s", prompt, r.raw)
				}
			}
		})
	}
}
