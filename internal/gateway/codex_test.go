package gateway

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
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
	stop   func() error // ends the gateway; then log is complete
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
	c.stop = sync.OnceValue(stop)
	t.Cleanup(func() { check(t, c.stop()) })
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

// entries ends the gateway and gives its requests to /v1/responses, in the order they came.
func (c *codexHome) entries() []Entry {
	c.t.Helper()
	check(c.t, c.stop())
	var all []Entry
	for line := range bytes.Lines(c.log.Bytes()) {
		var e Entry
		check(c.t, json.Unmarshal(line, &e))
		if e.Path == "/v1/responses" {
			all = append(all, e)
		}
	}
	slices.SortFunc(all, func(a, b Entry) int { return cmp.Compare(a.Seq, b.Seq) })
	return all
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

const toolScript = `{
  "models": ["gpt-5.5", "gpt-6-luna", "acme-1", "acme-code", "acme-classic"],
  "kinds": {"acme-code": "code", "acme-classic": "classic"},
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
		{"gpt-5.5", KindClassic}, {"acme-1", KindClassic}, {"gpt-6-luna", KindCode},
		{"acme-code", KindCode}, {"acme-classic", KindClassic},
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
				for line := range strings.Lines(r.raw) {
					if strings.Contains(line, "ERROR") && !strings.Contains(line, modelsCache) {
						t.Errorf("%s: Codex complains:\n%s", prompt, r.raw)
					}
				}
			}
		})
	}
}

// modelsCache is a complaint of Codex about itself: in a fresh home it may read its own cache while it writes it.
const modelsCache = "failed to load models cache"

// A command that takes longer than Codex would wait by itself is waited for.
func TestCodexSlowCommand(t *testing.T) {
	for _, model := range []string{"gpt-5.5", "gpt-6-luna"} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			c := newCodex(t, `{"models": ["gpt-5.5", "gpt-6-luna"], "rules": [{"steps": [{"command": {"cmd": "echo one; sleep 12; echo two"}}, {"text": "{{output}}"}]}]}`)
			if r := c.exec(model, "go"); r.final != "one\ntwo" {
				t.Errorf("the last message is %q\n%s\n%s", r.final, r.raw, c.log)
			}
		})
	}
}

// A 401 for a token that has been replaced costs Codex one retry with the new one, and no turn.
func TestCodexRotatedToken(t *testing.T) {
	c := newCodex(t, `{"token": {"rotateEvery": 1}, "rules": [
	  {"steps": [{"command": {"cmd": "echo one"}}, {"text": "done: {{output}}"}]}]}`)
	r := c.exec("gpt-5.5", "go")
	if r.final != "done: one" {
		t.Errorf("the last message is %q\n%s\n%s", r.final, r.raw, c.log)
	}
	var status []int
	tokens := map[string]bool{}
	for _, e := range c.entries() {
		status = append(status, e.Status)
		tokens[e.Token] = true
	}
	if want := []int{200, 401, 200}; !slices.Equal(status, want) || len(tokens) != 2 {
		t.Errorf("statuses %v with %d tokens, want %v with 2", status, len(tokens), want)
	}
}

// What Codex 0.171 makes of each fault: it goes on, or the turn fails after so many requests.
func TestCodexFaults(t *testing.T) {
	for _, tt := range []struct {
		name, fault string
		status      []int
		failed      string // part of the turn's error; "" when it ends well
	}{
		{"429 once", `{"status": 429, "retryAfter": 1, "times": 1}`, []int{429, 200}, ""},
		{"429 without retry-after", `{"status": 429, "times": 1}`, []int{429}, "429 Too Many Requests"},
		{"429 always", `{"status": 429, "retryAfter": 1}`, slices.Repeat([]int{429}, 6), "429 Too Many Requests"},
		{"500 once", `{"status": 500, "times": 1}`, []int{500, 200}, ""},
		{"400", `{"status": 400, "message": "no such thing"}`, []int{400}, "no such thing"},
		{"401 always", `{"status": 401}`, slices.Repeat([]int{401}, 12), "401 Unauthorized"},
		{"cut once", `{"cut": true, "times": 1}`, []int{200, 200}, ""},
		{"cut always", `{"cut": true}`, slices.Repeat([]int{200}, 6), "stream disconnected"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCodex(t, fmt.Sprintf(`{"rules": [{"faults": [%s], "steps": [{"text": "this is fine"}]}]}`, tt.fault))
			r := c.exec("gpt-5.5", "go")
			var status []int
			for _, e := range c.entries() {
				status = append(status, e.Status)
			}
			if !slices.Equal(status, tt.status) {
				t.Errorf("statuses %v, want %v", status, tt.status)
			}
			if tt.failed == "" && (r.final != "this is fine" || r.failed != "") {
				t.Errorf("the turn ended with %q, error %q", r.final, r.failed)
			}
			if tt.failed != "" && !strings.Contains(r.failed, tt.failed) {
				t.Errorf("the turn's error is %q, want %q in it", r.failed, tt.failed)
			}
		})
	}
}
