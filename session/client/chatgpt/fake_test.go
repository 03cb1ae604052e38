package chatgpt

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/berth-run/berth/session/atspi"
	"github.com/berth-run/berth/session/client"
	"github.com/berth-run/berth/session/client/chatgpt/driver"
	"github.com/berth-run/berth/session/client/turn"
)

// secret is in the token file, and the fake app says it.
const secret = "tok-0123456789abcdef"

// fake is a client without a desktop: a shell script is its app, a function its window, and the test
// binary its Codex.
type fake struct {
	t       *testing.T
	client  *Client
	batch   client.Batch
	dir     string
	desktop *fakeDesktop

	// prepare and send stand for what the driver does after its hand-off; the defaults are well.
	prepare func(driver.Receipt) (driver.Receipt, error)
	send    func(prompt string) (driver.Receipt, error)
	windows int // opened so far
	asks    error
}

func newFake(t *testing.T) *fake {
	t.Helper()
	dir := t.TempDir()
	f := &fake{t: t, dir: dir, desktop: newFakeDesktop(t)}
	f.prepare = func(r driver.Receipt) (driver.Receipt, error) { return r, nil }
	f.send = func(prompt string) (driver.Receipt, error) {
		f.record(recorded{prompt: prompt})
		return sent, nil
	}
	must(t, os.Mkdir(filepath.Join(dir, "evidence"), 0o700))
	token := filepath.Join(dir, "token")
	must(t, os.WriteFile(token, []byte(secret+"\n"), 0o600))
	f.client = New(Options{
		AppPath: f.script("app", fakeApp), CodexPath: f.script("codex", f.fakeCodex()), Home: filepath.Join(dir, "home"), LimitsFile: filepath.Join(dir, "none"),
		Limits: Limits{Settle: time.Millisecond, Handoff: time.Minute, End: time.Second, Turn: turn.Limits{
			Bind: 300 * time.Millisecond, Stall: 300 * time.Millisecond, Poll: 5 * time.Millisecond,
		}},
	})
	f.client.desktop = func(context.Context) (desktop, error) { return f.desktop, f.desktop.Err() }
	f.client.window = func(_ context.Context, o driver.Options) (window, error) {
		f.windows++
		return &fakeWindow{f, o}, nil
	}
	none := func(context.Context, *dbus.Conn) error { return nil }
	f.client.keyring = secrets{check: none, clear: none}
	f.batch = client.Batch{
		Model: "gpt-5.5", Trials: 2, EvidenceDir: filepath.Join(dir, "evidence"),
		Inference: client.Inference{Mode: client.ModeGateway, BaseURL: "http://127.0.0.1:1/v1", TokenFile: token},
	}
	return f
}

func (f *fake) script(name, text string) string {
	f.t.Helper()
	path := filepath.Join(f.dir, name)
	must(f.t, os.WriteFile(path, []byte("#!/bin/sh\n"+strings.ReplaceAll(text, "DIR", f.dir)), 0o700))
	return path
}

// fakeApp notes how it was started; with a link it ends, as DIR/second says.
const fakeApp = `
for arg; do
  case $arg in codex://*)
    echo "$arg" >>DIR/links
    env >DIR/second.env
    if [ -e DIR/second ]; then . DIR/second; fi
    exit 0
  esac
done
env >DIR/app.env
for arg; do echo "$arg"; done >DIR/app.args.new
mv DIR/app.args.new DIR/app.args
echo "the app says tok-0123456789abcdef"
exec sleep 1000
`

// envFake makes the test binary an app server that passes a probe.
const envFake = "CHATGPT_TEST_FAKE"

func (f *fake) fakeCodex() string {
	self, err := os.Executable()
	must(f.t, err)
	return fmt.Sprintf("%s=yes exec '%s' \"$@\"\n", envFake, self)
}

func fakeMain() {
	if os.Getenv(envFake) == "" {
		return
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if json.Unmarshal(lines.Bytes(), &m) != nil || len(m.ID) == 0 {
			continue
		}
		fmt.Printf(`{"id":%s,"result":{"exitCode":0,"stdout":"berth codex\n"}}`+"\n", m.ID)
	}
	os.Exit(0)
}

// fakeDesktop is a desktop's addresses with nothing behind them.
type fakeDesktop struct {
	env  []string
	done chan struct{}
	err  error
	lost atomic.Bool // it's about to end
}

func newFakeDesktop(t *testing.T) *fakeDesktop {
	t.Helper()
	run := filepath.Join(t.TempDir(), "run")
	must(t, os.Mkdir(run, 0o700))
	return &fakeDesktop{done: make(chan struct{}), env: []string{
		"DISPLAY=:99999", "XDG_RUNTIME_DIR=" + run, "DBUS_SESSION_BUS_ADDRESS=unix:path=" + run + "/bus",
		"AT_SPI_BUS_ADDRESS=unix:path=" + run + "/at-spi", "GNOME_KEYRING_CONTROL=" + run + "/keyring", "OTHER=1",
	}}
}

func (d *fakeDesktop) Env() []string         { return d.env }
func (d *fakeDesktop) Bus() *dbus.Conn       { return nil }
func (d *fakeDesktop) Whole() bool           { return !d.lost.Load() && d.Err() == nil }
func (d *fakeDesktop) Done() <-chan struct{} { return d.done }
func (d *fakeDesktop) Err() error {
	select {
	case <-d.done:
		return d.err
	default:
		return nil
	}
}

func (d *fakeDesktop) end(err error) {
	d.err = err
	close(d.done)
}

// fakeWindow hands off as the driver does, and leaves the rest to the fake.
type fakeWindow struct {
	fake *fake
	opts driver.Options
}

var sent = driver.Receipt{Status: driver.Submitted, Sent: true, ActionCount: 2}

func (w *fakeWindow) Prepare(ctx context.Context, s driver.Surface) (driver.Receipt, error) {
	if err := w.opts.Open(ctx, ""); err != nil {
		return driver.Receipt{Status: driver.Failed}, err
	}
	return w.fake.prepare(driver.Receipt{Status: driver.Ready, Surface: s, ActionCount: 1})
}

func (w *fakeWindow) Submit(ctx context.Context, s driver.Surface, prompt string) (driver.Receipt, error) {
	if err := w.opts.Open(ctx, prompt); err != nil {
		return driver.Receipt{Status: driver.Failed, Surface: s}, err
	}
	return w.fake.send(prompt)
}

func (w *fakeWindow) Inspect(context.Context, driver.Surface) driver.Inspection {
	return driver.Inspection{}
}

func (w *fakeWindow) Dump(context.Context) ([]atspi.Object, error) {
	return []atspi.Object{{Role: "frame", Name: "shows " + secret}}, nil
}

func (w *fakeWindow) Asks(context.Context) error { return w.fake.asks }

func (w *fakeWindow) Close() {}

// recorded is a session that the fake app's engine has recorded; what is empty is as it should be.
type recorded struct {
	originator, prompt, model, effort string
	answer                            string // "-" for none
	tool                              string // a call of an MCP tool, as the model names it
	end                               string // the type of the last event; "-" for none
}

var records atomic.Int64

// record writes it into the batch's CODEX_HOME.
func (f *fake) record(r recorded) {
	or := func(s *string, d string) {
		if *s == "" {
			*s = d
		}
	}
	or(&r.originator, "codex_work_desktop")
	or(&r.model, "gpt-5.5")
	or(&r.effort, "medium")
	or(&r.answer, "Hello.")
	or(&r.end, "task_complete")
	n := records.Add(1)
	id, turnID := fmt.Sprintf("session-%d", n), fmt.Sprintf("turn-%d", n)
	now := time.Now().UTC()
	var b strings.Builder
	line := func(kind string, payload map[string]any) {
		text, err := json.Marshal(map[string]any{"timestamp": now.Format(time.RFC3339Nano), "type": kind, "payload": payload})
		must(f.t, err)
		b.Write(append(text, '\n'))
	}
	event := func(kind string, more map[string]any) {
		payload := map[string]any{"type": kind, "turn_id": turnID}
		for k, v := range more {
			payload[k] = v
		}
		line("event_msg", payload)
	}
	message := func(kind, text string) {
		event("item_completed", map[string]any{"item": map[string]any{"type": kind, "content": []any{map[string]any{"type": "text", "text": text}}}})
	}
	line("session_meta", map[string]any{"id": id, "originator": r.originator, "cli_version": "0.171.0", "source": "vscode"})
	event("task_started", map[string]any{"started_at": now.Unix()})
	line("turn_context", map[string]any{"turn_id": turnID, "model": r.model, "effort": r.effort})
	message("UserMessage", r.prompt)
	if r.tool != "" {
		namespace, name, _ := strings.Cut(r.tool, ".")
		line("response_item", map[string]any{"type": "function_call", "call_id": "c", "namespace": namespace, "name": name, "arguments": "{}"})
	}
	if r.answer != "-" {
		message("AgentMessage", r.answer)
	}
	if r.end != "-" {
		event(r.end, map[string]any{"duration_ms": 12, "reason": "interrupted", "last_agent_message": strings.Trim(r.answer, "-")})
	}
	dir := filepath.Join(f.client.opts.Home, ".codex", "sessions", "2026", "11", "29")
	must(f.t, os.MkdirAll(dir, 0o700))
	must(f.t, os.WriteFile(filepath.Join(dir, "rollout-"+id+".jsonl"), []byte(b.String()), 0o600))
}

// awaitApp waits until the fake app has noted how it was started.
func (f *fake) awaitApp() {
	f.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(filepath.Join(f.dir, "app.args")); err == nil {
			return
		}
		if time.Now().After(deadline) {
			f.t.Fatal("the app hasn't started")
		}
	}
}

// read gives a file of the fake's, as lines.
func (f *fake) read(name string) []string {
	f.t.Helper()
	b, err := os.ReadFile(filepath.Join(f.dir, name))
	must(f.t, err)
	return strings.Split(strings.TrimSpace(string(b)), "\n")
}
