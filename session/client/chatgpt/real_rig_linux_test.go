package chatgpt

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berth-run/berth/internal/gateway"
	"github.com/berth-run/berth/internal/mcp/mcptest"
	"github.com/berth-run/berth/session"
	"github.com/berth-run/berth/session/client"
	"github.com/berth-run/berth/session/client/chatgpt/driver"
	"github.com/berth-run/berth/session/client/engine"
	"github.com/berth-run/berth/session/sessiontest"
)

// rig is a desktop of its own, an app on it, the real Codex, and a scripted gateway.
type rig struct {
	t       *testing.T
	desktop *session.Session
	client  *Client
	batch   client.Batch
	token   gateway.File
	log     *bytes.Buffer
	dir     string
	stop    func() error // ends the gateway; then log is complete
}

// unhurried is what nothing takes, however busy the machine is.
const unhurried = 5 * time.Minute

// program is where an image has it, else where a variable says.
func program(t *testing.T, path, variable, otherwise string) string {
	t.Helper()
	if other := os.Getenv(variable); other != "" {
		return other
	}
	if _, err := os.Stat(path); err != nil {
		t.Skipf("%s isn't there: set %s to %s", path, variable, otherwise)
	}
	return path
}

// newRig starts the desktop and the gateway; nothing of the client is started yet. scenario is how the
// stand-in behaves, "" for its own first run.
func newRig(t *testing.T, script, scenario string) *rig {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a desktop and Chromium")
	}
	if os.Geteuid() == 0 {
		t.Skip("Chromium doesn't start as root: run as an ordinary user (scripts/rootless go test ...)")
	}
	app := program(t, DefaultAppPath, "BERTH_CHATGPT", "the stand-in (go build ./testdata/standin/chatgpt)")
	codex := program(t, engine.DefaultPath, "BERTH_CODEX", "the binary of npm's @openai/codex")
	sessiontest.Need(t, "/usr/bin/chromium", "chromium")
	dir := shortDir(t)
	r := &rig{t: t, dir: dir, desktop: sessiontest.Start(t), token: gateway.File(filepath.Join(dir, "token")), log: &bytes.Buffer{}}
	must(t, r.token.Rotate())
	must(t, os.Mkdir(filepath.Join(dir, "evidence"), 0o700))
	url := r.serve(script)
	r.client = New(Options{
		Desktop: func(context.Context) (*session.Session, error) { return r.desktop, r.desktop.Err() },
		AppPath: r.wrap(app, codex, scenario), CodexPath: codex, Home: filepath.Join(dir, "app"), LimitsFile: filepath.Join(dir, "none"),
		Limits: Limits{Handoff: unhurried, Driver: driver.Limits{
			Settle: 300 * time.Millisecond, Overall: unhurried, FirstUI: unhurried, Screen: unhurried, Open: unhurried, Draft: unhurried,
		}},
	})
	r.batch = client.Batch{
		Variant: "default", Model: "gpt-5.5", Trials: 1, EvidenceDir: filepath.Join(dir, "evidence"),
		Inference: client.Inference{Mode: client.ModeGateway, BaseURL: url, TokenFile: string(r.token)},
	}
	return r
}

// shortDir has a short path, as sockets want one.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "berth")
	must(t, err)
	t.Cleanup(func() {
		if keep := os.Getenv("BERTH_KEEP_EVIDENCE"); keep == "" || !t.Failed() {
			os.RemoveAll(dir)
		}
	})
	return dir
}

func (r *rig) serve(script string) (url string) {
	r.t.Helper()
	s, err := gateway.Parse("script.json", []byte(script))
	must(r.t, err)
	g, err := gateway.New(s, gateway.Options{Token: r.token, Log: r.log})
	must(r.t, err)
	url, stop, err := g.Start("127.0.0.1:0")
	must(r.t, err)
	r.stop = sync.OnceValue(stop)
	r.t.Cleanup(func() { must(r.t, r.stop()) })
	return url
}

// wrap starts the app with what the stand-in has to be told, and the real one doesn't look at: the
// client hands no variable on. It notes with what the app is started, and with what a second time.
func (r *rig) wrap(app, codex, scenario string) string {
	r.t.Helper()
	env := "CHATGPT_STANDIN_CODEX='" + codex + "' XDG_STATE_HOME='" + filepath.Join(r.dir, "state") + "'"
	if scenario != "" {
		file := filepath.Join(r.dir, "scenario.json")
		must(r.t, os.WriteFile(file, []byte(scenario), 0o600))
		env += " CHATGPT_STANDIN_SCENARIO='" + file + "'"
	}
	path := filepath.Join(r.dir, "chatgpt")
	must(r.t, os.WriteFile(path, fmt.Appendf(nil, wrapper, r.dir, env, app), 0o700))
	return path
}

const wrapper = `#!/bin/sh
note=app
for arg; do case $arg in codex://*) note=second ;; esac; done
env >'%s'/$note.env
%s exec '%s' "$@"
`

// open opens the batch; at the test's end nothing of it may be left.
func (r *rig) open() client.Session {
	r.t.Helper()
	s, err := r.client.Open(within(r.t, unhurried), r.batch)
	if err != nil {
		r.show()
		r.t.Fatal(err)
	}
	closed := sync.OnceFunc(func() {
		must(r.t, s.Close(context.Background()))
		r.checkGone()
	})
	r.t.Cleanup(closed)
	return closing{s, closed}
}

// closing is a Session that may be closed before the test's end.
type closing struct {
	client.Session
	close func()
}

func (c closing) Close(context.Context) error { c.close(); return nil }

// checkGone makes sure that no profile, no process and no secret of a batch is left.
func (r *rig) checkGone() {
	r.t.Helper()
	if _, err := os.Lstat(r.client.opts.Home); !os.IsNotExist(err) {
		r.t.Errorf("%s is still there: %v", r.client.opts.Home, err)
	}
	for _, p := range processesWith(r.t, r.client.opts.Home) {
		r.t.Errorf("a process is left: %s", p)
	}
}

// processesWith lists the processes that have text in their environment, arguments or working folder.
func processesWith(t *testing.T, text string) []string {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	must(t, err)
	var found []string
	for _, d := range dirs {
		env, _ := os.ReadFile(filepath.Join(d, "environ")) // gone, or somebody else's
		cmdline, _ := os.ReadFile(filepath.Join(d, "cmdline"))
		cwd, _ := os.Readlink(filepath.Join(d, "cwd"))
		if len(cmdline) > 0 && strings.Contains(string(env)+string(cmdline)+cwd, text) { // a zombie has none
			found = append(found, d+" "+strings.ReplaceAll(string(cmdline), "\x00", " "))
		}
	}
	return found
}

// show logs what a failed start left as evidence.
func (r *rig) show() {
	files, _ := filepath.Glob(filepath.Join(r.batch.EvidenceDir, "*", "*.[tl]*"))
	for _, f := range files {
		b, _ := os.ReadFile(f)
		r.t.Logf("%s:\n%s", f, b[max(0, len(b)-6000):])
	}
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

// journal counts what the stand-in says was done to it.
func (r *rig) journal() map[string]int {
	r.t.Helper()
	data, err := os.ReadFile(filepath.Join(r.dir, "state", "chatgpt-standin.jsonl"))
	must(r.t, err)
	counts := map[string]int{}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		var e struct{ Event string }
		must(r.t, json.Unmarshal(lines.Bytes(), &e))
		counts[e.Event]++
	}
	return counts
}

// notes is the test binary as an MCP server with two tools.
func notes(t *testing.T, label string) client.Server {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	return client.Server{Label: label, Transport: "stdio", Command: self, Env: map[string]string{mcptest.EnvTools: "2"}}
}

func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}
