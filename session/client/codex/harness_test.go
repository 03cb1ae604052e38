package codex

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berth-run/berth/internal/gateway"
	"github.com/berth-run/berth/internal/mcp/mcptest"
	"github.com/berth-run/berth/session/client"
)

func TestMain(m *testing.M) {
	mcptest.Main()
	fakeMain()
	os.Exit(m.Run())
}

// rig is the real Codex with a scripted gateway.
type rig struct {
	t        *testing.T
	client   *Client
	batch    client.Batch
	token    gateway.File
	log      *bytes.Buffer
	dir      string
	evidence string
	stop     func() error // ends the gateway; then log is complete
}

// codexPath is the real binary, or the reason why there is none.
func codexPath(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("runs the real Codex: not with -short")
	}
	if path := os.Getenv("BERTH_CODEX"); path != "" {
		return path
	}
	if _, err := os.Stat(DefaultPath); err == nil {
		return DefaultPath
	}
	t.Skip("needs the real Codex: set BERTH_CODEX to the binary of npm's @openai/codex")
	return ""
}

// newRig starts a gateway with the script; nothing of the client is started yet.
func newRig(t *testing.T, model, script string) *rig {
	t.Helper()
	path := codexPath(t)
	root := t.TempDir()
	r := &rig{
		t: t, dir: filepath.Join(root, "trials"), evidence: filepath.Join(root, "evidence"),
		token: gateway.File(filepath.Join(root, "token")), log: &bytes.Buffer{},
	}
	must(t, os.Mkdir(r.evidence, 0o700))
	must(t, r.token.Rotate())
	s, err := gateway.Parse("script.json", []byte(script))
	must(t, err)
	g, err := gateway.New(s, gateway.Options{Token: r.token, Log: r.log})
	must(t, err)
	url, stop, err := g.Start("127.0.0.1:0")
	must(t, err)
	r.stop = sync.OnceValue(stop)
	t.Cleanup(func() { must(t, r.stop()) })
	r.client = New(Setup{Path: path, Dir: r.dir})
	r.batch = client.Batch{
		Variant: "default", Model: model, EvidenceDir: r.evidence,
		Inference: client.Inference{Mode: client.ModeGateway, BaseURL: url, TokenFile: string(r.token)},
	}
	return r
}

// notes is the test binary as an MCP server with two tools.
func notes(t *testing.T, label string) client.Server {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	return client.Server{Label: label, Transport: "stdio", Command: self, Env: map[string]string{mcptest.EnvTools: "2"}}
}

func (r *rig) open() client.Session {
	r.t.Helper()
	s, err := r.client.Open(context.Background(), r.batch)
	must(r.t, err)
	r.t.Cleanup(func() {
		must(r.t, s.Close(context.Background()))
		r.checkGone()
	})
	return s
}

// checkGone makes sure that no folder and no process of a trial is left.
func (r *rig) checkGone() {
	r.t.Helper()
	left, err := os.ReadDir(r.dir)
	must(r.t, err)
	if len(left) != 0 {
		r.t.Errorf("%s still holds %v", r.dir, left)
	}
	for _, p := range processesWith(r.t, r.dir) {
		r.t.Errorf("a process is left: %s", p)
	}
}

// processesWith lists the processes that have text in their environment or their working folder.
func processesWith(t *testing.T, text string) []string {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	must(t, err)
	var found []string
	for _, d := range dirs {
		env, _ := os.ReadFile(filepath.Join(d, "environ")) // gone, or somebody else's
		cwd, _ := os.Readlink(filepath.Join(d, "cwd"))
		if strings.Contains(string(env), text) || strings.Contains(cwd, text) {
			cmdline, _ := os.ReadFile(filepath.Join(d, "cmdline"))
			if len(cmdline) > 0 { // a zombie has none
				found = append(found, d+" "+strings.ReplaceAll(string(cmdline), "\x00", " "))
			}
		}
	}
	return found
}

// requests are the gateway's /v1/responses entries, in order; the gateway is ended.
func (r *rig) requests() []gateway.Entry {
	r.t.Helper()
	must(r.t, r.stop())
	var all []gateway.Entry
	for line := range bytes.Lines(r.log.Bytes()) {
		var e gateway.Entry
		must(r.t, json.Unmarshal(line, &e))
		if e.Path == "/v1/responses" {
			all = append(all, e)
		}
	}
	slices.SortFunc(all, func(a, b gateway.Entry) int { return cmp.Compare(a.Seq, b.Seq) })
	return all
}

func unhurried(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
