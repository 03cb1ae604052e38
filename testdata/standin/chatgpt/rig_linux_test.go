package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-run/berth/internal/gateway"
	"github.com/berth-run/berth/session"
	"github.com/berth-run/berth/session/atspi"
	"github.com/berth-run/berth/session/client/process"
	"github.com/berth-run/berth/session/sessiontest"
	"github.com/berth-run/berth/session/x11"
)

// rig is a session with a profile for the app, and a scripted gateway for its Codex.
type rig struct {
	t       *testing.T
	session *session.Session
	home    string
	extra   []string // of the environment
	journal string
	process *process.Process
	app     *atspi.App
	display *x11.Display
}

func newRig(t *testing.T, s *session.Session) *rig {
	t.Helper()
	user, err := os.UserHomeDir()
	must(t, err)
	home, err := os.MkdirTemp(user, "chatgpt-test-*") // Codex puts no helpers below /tmp
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(home)) })
	display, err := x11.Open(t.Context(), sessiontest.Getenv(s, "DISPLAY"))
	must(t, err)
	t.Cleanup(display.Close)
	return &rig{t: t, session: s, home: home, journal: filepath.Join(home, "journal.jsonl"), display: display}
}

// desk brings a session up, where Chromium can start.
func desk(t *testing.T) *session.Session {
	t.Helper()
	needs(t)
	return sessiontest.Start(t)
}

func needs(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a desktop and Chromium")
	}
	if os.Geteuid() == 0 {
		t.Skip("Chromium doesn't start as root: run as an ordinary user (scripts/rootless go test ...)")
	}
	sessiontest.Need(t, "/usr/bin/chromium", "chromium")
}

func (r *rig) codexHome() string { return filepath.Join(r.home, ".codex") }
func (r *rig) workspace() string { return filepath.Join(r.home, "work space") }

// withCodex writes Codex's config, for a gateway that answers by script.
func (r *rig) withCodex(script string) {
	r.t.Helper()
	if os.Getenv("BERTH_CODEX") == "" {
		r.t.Skip("needs the real Codex: set BERTH_CODEX to what scripts/codex prints")
	}
	must(r.t, os.MkdirAll(r.codexHome(), 0o700))
	must(r.t, os.MkdirAll(r.workspace(), 0o700))
	token := gateway.File(filepath.Join(r.home, "token"))
	must(r.t, token.Rotate())
	s, err := gateway.Parse("script.json", []byte(script))
	must(r.t, err)
	g, err := gateway.New(s, gateway.Options{Token: token})
	must(r.t, err)
	address, stop, err := g.Start("127.0.0.1:0")
	must(r.t, err)
	r.t.Cleanup(func() { must(r.t, stop()) })
	must(r.t, os.WriteFile(filepath.Join(r.codexHome(), "config.toml"), fmt.Appendf(nil, `
model = "gpt-5.5"
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
`, address, string(token)), 0o600))
}

func (r *rig) env() []string {
	env := slices.DeleteFunc(r.session.Env(), func(kv string) bool { return strings.HasPrefix(kv, "HOME=") })
	env = append(env, "HOME="+r.home, "PATH=/usr/bin:/bin", "LANG=C.UTF-8", asApp+"=1",
		"CHATGPT_STANDIN_CODEX="+os.Getenv("BERTH_CODEX"), "CHATGPT_STANDIN_SCENARIO="+filepath.Join(r.home, "scenario.json"))
	return append(env, r.extra...)
}

var appFlags = []string{"--ozone-platform=x11", "--force-renderer-accessibility", "--disable-gpu", "--disable-dev-shm-usage"}

// start starts the app with a scenario and no wait.
func (r *rig) start(scenario string, args ...string) {
	r.t.Helper()
	r.write("scenario.json", scenario)
	self, err := os.Executable()
	must(r.t, err)
	r.process, err = process.Start(process.Spec{Path: self, Args: append(slices.Clone(appFlags), args...), Dir: r.home, Env: r.env()})
	must(r.t, err)
	r.t.Cleanup(func() {
		if r.t.Failed() {
			r.t.Logf("the app said: %s", r.process.Stderr())
			journal, _ := os.ReadFile(r.journal)
			r.t.Logf("its journal:\n%s", journal)
			r.logTree()
		}
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		must(r.t, r.process.End(ctx))
	})
}

// write writes a scenario, with the rig's journal in it, and gives its path.
func (r *rig) write(name, scenario string) string {
	r.t.Helper()
	var sc map[string]any
	must(r.t, json.Unmarshal([]byte(scenario), &sc))
	sc["log"] = r.journal
	data, err := json.Marshal(sc)
	must(r.t, err)
	path := filepath.Join(r.home, name)
	must(r.t, os.WriteFile(path, data, 0o600))
	return path
}

// find waits until the app is on the accessibility bus and shows something.
func (r *rig) find() {
	r.t.Helper()
	bus, err := atspi.Open(r.t.Context(), sessiontest.Getenv(r.session, "DBUS_SESSION_BUS_ADDRESS"))
	must(r.t, err)
	r.t.Cleanup(bus.Close)
	r.app, err = bus.Find(within(r.t), atspi.Identity{Names: []string{"chromium"}, Processes: []string{"chromium"}})
	must(r.t, err)
	_, err = r.app.Ready(within(r.t))
	must(r.t, err)
}

// second starts the app again with a link, and gives its output. It must exit with status 0.
func (r *rig) second(link string) string {
	r.t.Helper()
	out, status := r.trySecond(link)
	if status != 0 {
		r.t.Fatalf("the second start exited with %d: %s", status, out)
	}
	return out
}

func (r *rig) trySecond(link string) (string, int) {
	r.t.Helper()
	self, err := os.Executable()
	must(r.t, err)
	cmd := exec.Command(self, append(slices.Clone(appFlags), link)...)
	cmd.Env = r.env()
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		r.t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

func (r *rig) handOff(prompt string) {
	r.t.Helper()
	quote := func(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }
	link := "codex://new?path=" + quote(r.workspace())
	if prompt != "" {
		link += "&prompt=" + quote(prompt)
	}
	r.second(link)
}

// restart begins another scenario in the same window, and waits until nothing of the one before is
// there.
func (r *rig) restart(scenario string) {
	r.t.Helper()
	r.second("chatgpt-standin://scenario?hold=1&file=" + url.QueryEscape(r.write("next.json", scenario)))
	r.one(heading("ChatGPT"))
	r.second("chatgpt-standin://go")
}

type line struct {
	Event, Screen, Control, Surface, Text, Path string
	Run                                         int
	Pointer, Late                               bool
}

// lines are the journal's, of one event.
func (r *rig) lines(event string) []line {
	r.t.Helper()
	data, err := os.ReadFile(r.journal)
	if !errors.Is(err, os.ErrNotExist) {
		must(r.t, err)
	}
	var all []line
	s := bufio.NewScanner(bytes.NewReader(data))
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		var l line
		must(r.t, json.Unmarshal(s.Bytes(), &l))
		if l.Event == event {
			all = append(all, l)
		}
	}
	return all
}

// poll waits until see is satisfied.
func (r *rig) poll(what string, see func() bool) {
	r.t.Helper()
	ctx := within(r.t)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !see() {
		select {
		case <-ctx.Done():
			r.t.Fatalf("waiting for %s", what)
		case <-tick.C:
		}
	}
}

// await takes snapshots until see is satisfied.
func (r *rig) await(what string, see func(*atspi.Tree) bool) {
	r.t.Helper()
	_, err := r.app.Await(within(r.t), what, func(t *atspi.Tree) (bool, error) { return see(t), nil })
	must(r.t, err)
}

// one waits for the only control that matches.
func (r *rig) one(q atspi.Query) *atspi.Node {
	r.t.Helper()
	var n *atspi.Node
	r.await(fmt.Sprint(q.Roles, q.Names), func(t *atspi.Tree) bool {
		found := t.Find(q)
		if len(q.Names) == 0 {
			found = atspi.Outermost(found)
		}
		if len(found) == 1 {
			n = found[0]
		}
		return n != nil
	})
	return n
}

func (r *rig) press(name string, actions ...string) {
	r.t.Helper()
	must(r.t, r.app.Do(r.t.Context(), r.one(button(name)), actions...))
}

func (r *rig) logTree() {
	if r.app == nil {
		return
	}
	tree, err := r.app.Snapshot(context.Background())
	if err != nil {
		r.t.Log(err)
		return
	}
	for _, n := range tree.Find(atspi.Query{States: atspi.StateShowing | atspi.StateVisible}) {
		r.t.Logf("%v %q: %v", n.Role, n.Name, n.States)
	}
}

func button(name string) atspi.Query {
	return atspi.Query{Roles: []atspi.Role{atspi.RoleButton}, Names: []string{name}, States: atspi.Actionable}
}

func heading(name string) atspi.Query {
	return atspi.Query{Roles: []atspi.Role{atspi.RoleHeading}, Names: []string{name}, States: atspi.Available}
}

var composer = atspi.Query{States: atspi.Available | atspi.StateEditable, Interfaces: atspi.HasText}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
