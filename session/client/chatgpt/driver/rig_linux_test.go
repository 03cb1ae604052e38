package driver_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berth-run/berth/session"
	"github.com/berth-run/berth/session/atspi"
	"github.com/berth-run/berth/session/client/chatgpt/driver"
	"github.com/berth-run/berth/session/client/process"
	"github.com/berth-run/berth/session/sessiontest"
)

// rig is the stand-in on a desktop of its own, and the driver of it.
type rig struct {
	t       testing.TB
	session *session.Session
	path    string // of the app
	home    string
	process *process.Process
	driver  *driver.Driver
	app     *atspi.App // as the test sees it
}

// appPath is where the app is: in an image as the real one, else where BERTH_CHATGPT says.
func appPath(t testing.TB) string {
	t.Helper()
	if path := os.Getenv("BERTH_CHATGPT"); path != "" {
		return path
	}
	const path = "/usr/bin/chatgpt"
	if _, err := os.Stat(path); err != nil {
		t.Skip("no app is here: set BERTH_CHATGPT to the stand-in (go build ./testdata/standin/chatgpt)")
	}
	return path
}

// newRig starts the app with a scenario and without some of its flags, and a driver with limits.
func newRig(t testing.TB, scenario map[string]any, limits driver.Limits, without ...string) *rig {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a desktop and Chromium")
	}
	if os.Geteuid() == 0 {
		t.Skip("Chromium doesn't start as root: run as an ordinary user (scripts/rootless go test ...)")
	}
	r := &rig{t: t, path: appPath(t)}
	sessiontest.Need(t, "/usr/bin/chromium", "chromium")
	r.session, r.home = sessiontest.Start(t), t.TempDir()
	r.start(scenario, slices.DeleteFunc(slices.Clone(flags), func(f string) bool { return slices.Contains(without, f) }))
	r.drive(t, limits)
	return r
}

func (r *rig) start(scenario map[string]any, args []string) {
	r.t.Helper()
	r.write("scenario.json", scenario)
	var err error
	r.process, err = process.Start(process.Spec{Path: r.path, Args: args, Dir: r.home, Env: r.env()})
	must(r.t, err)
	r.t.Cleanup(func() {
		if r.t.Failed() {
			r.t.Logf("the app said: %s", r.process.Stderr())
		}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		must(r.t, r.process.End(ctx))
	})
}

// drive makes another driver, for as long as t takes. What isn't limited has all the time that it needs.
func (r *rig) drive(t testing.TB, limits driver.Limits) {
	t.Helper()
	for _, limit := range []*time.Duration{&limits.Overall, &limits.FirstUI, &limits.Screen, &limits.Open, &limits.Draft} {
		*limit = cmp.Or(*limit, unhurried)
	}
	var err error
	r.driver, err = driver.New(t.Context(), driver.Options{
		Accessibility: sessiontest.Getenv(r.session, "AT_SPI_BUS_ADDRESS"),
		Display:       sessiontest.Getenv(r.session, "DISPLAY"),
		Owns: func(pid int) bool {
			group, err := unix.Getpgid(pid)
			return err == nil && group == r.process.PID()
		},
		Open:   r.handOff,
		Limits: limits,
	})
	must(t, err)
	t.Cleanup(r.driver.Close)
}

// unhurried is what nothing takes, however busy the machine is.
const unhurried = 5 * time.Minute

// flags are those that the client starts the app with (contract §4.1).
var flags = []string{
	"--no-sandbox", "--ozone-platform=x11", "--force-renderer-accessibility", "--disable-gpu", "--disable-dev-shm-usage",
}

func (r *rig) env() []string {
	env := slices.DeleteFunc(r.session.Env(), func(kv string) bool { return strings.HasPrefix(kv, "HOME=") })
	return append(env, "HOME="+r.home, "PATH=/usr/bin:/bin", "LANG=C.UTF-8",
		"CHATGPT_STANDIN_CODEX="+codexPath(), "CHATGPT_STANDIN_SCENARIO="+filepath.Join(r.home, "scenario.json"))
}

// codexPath is where the app's Codex is.
func codexPath() string { return cmp.Or(os.Getenv("BERTH_CODEX"), "/opt/codex/bin/codex") }

// write writes a scenario, with the rig's journal in it, and gives its path.
func (r *rig) write(name string, scenario map[string]any) string {
	r.t.Helper()
	scenario["log"] = filepath.Join(r.home, "journal.jsonl")
	data, err := json.Marshal(scenario)
	must(r.t, err)
	path := filepath.Join(r.home, name)
	must(r.t, os.WriteFile(path, data, 0o600))
	return path
}

// second starts the app again with a link, and gives what it says.
func (r *rig) second(ctx context.Context, link string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, r.path, append(slices.Clone(flags), link)...)
	cmd.Env = r.env()
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		r.t.Logf("the second start: %v: %s", err, exit.Stderr)
	}
	return out, err
}

// find finds the app, for the test itself, which waits for its window.
func (r *rig) find() {
	r.t.Helper()
	bus, err := atspi.OpenAddress(r.t.Context(), sessiontest.Getenv(r.session, "AT_SPI_BUS_ADDRESS"))
	must(r.t, err)
	r.t.Cleanup(bus.Close)
	r.app, err = bus.Find(within(r.t, time.Minute), atspi.Identity{Names: []string{"chromium"}})
	must(r.t, err)
}

// look finds the app and waits until its window shows something.
func (r *rig) look() {
	r.t.Helper()
	r.find()
	_, err := r.app.Ready(within(r.t, time.Minute))
	must(r.t, err)
}

// clear has the app show its splash and no more, and waits until that is all there is to be seen: a page
// is drawn before its accessibility tree is, and the driver mustn't meet the scenario before. It returns
// how long a screen may take, by how long this one took.
func (r *rig) clear(t testing.TB) time.Duration {
	t.Helper()
	began := time.Now()
	r.begin(t, "file="+url.QueryEscape(r.write("splash.json", map[string]any{"splash": map[string]any{"until": "never"}})))
	r.page(t, func(shown []*atspi.Node) bool {
		return len(shown) == 3 && shown[2].Name == "ChatGPT" // main, heading, and its text
	})
	return 500*time.Millisecond + 10*time.Since(began)
}

// arrive waits until something else than the splash is to be seen.
func (r *rig) arrive(t testing.TB) {
	t.Helper()
	r.page(t, func(shown []*atspi.Node) bool { return len(shown) > 3 })
}

// page waits for what the app's page shows.
func (r *rig) page(t testing.TB, see func(shown []*atspi.Node) bool) {
	t.Helper()
	_, err := r.app.Await(within(t, time.Minute), "the page", func(tree *atspi.Tree) (bool, error) {
		pages := tree.Find(atspi.Query{Roles: []atspi.Role{atspi.RoleDocumentWeb}, States: atspi.Available})
		return len(pages) == 1 && see(tree.Find(atspi.Query{Within: pages[0], States: atspi.Available})), nil
	})
	must(t, err)
}

// begin begins another scenario in the same window, by a link, and returns what the app says of it.
func (r *rig) begin(t testing.TB, link string) []byte {
	t.Helper()
	said, err := r.second(t.Context(), "chatgpt-standin://scenario?"+link)
	must(t, err)
	return said
}

// handOff is the driver's Opener.
func (r *rig) handOff(ctx context.Context, draft string) error {
	quote := func(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }
	link := "codex://new?path=" + quote(r.home)
	if draft != "" {
		link += "&prompt=" + quote(draft)
	}
	_, err := r.second(ctx, link)
	return err
}

// restart begins a scenario of the test's own in the same window, and returns twice what clear does: it isn't
// tried again where the machine was busy.
func (r *rig) restart(t testing.TB, scenario map[string]any) time.Duration {
	t.Helper()
	patience := r.clear(t)
	r.begin(t, "file="+url.QueryEscape(r.write("next.json", scenario)))
	return 2 * patience
}

// entry is a line of the app's journal.
type entry struct {
	Event, Screen, Control, Surface, Text string
	Run                                   int
	Pointer, Key, Late                    bool
}

// journal are the events of the newest scenario, of one kind.
func (r *rig) journal(event string) []entry {
	r.t.Helper()
	data, err := os.ReadFile(filepath.Join(r.home, "journal.jsonl"))
	must(r.t, err)
	var all []entry
	newest := 0
	s := bufio.NewScanner(bytes.NewReader(data))
	s.Buffer(nil, 4<<20)
	for s.Scan() {
		var e entry
		must(r.t, json.Unmarshal(s.Bytes(), &e))
		newest = max(newest, e.Run)
		all = append(all, e)
	}
	return slices.DeleteFunc(all, func(e entry) bool { return e.Run != newest || e.Event != event })
}

// show logs what the app shows.
func (r *rig) show() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	objects, err := r.driver.Dump(ctx)
	if err != nil {
		r.t.Log(err)
		return
	}
	var b bytes.Buffer
	must(r.t, atspi.WriteObjects(&b, objects))
	r.t.Logf("the app shows:\n%s", b.String())
}

func within(t testing.TB, limit time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
