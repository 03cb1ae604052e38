package driver_test

import (
	"bufio"
	"bytes"
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

// newRig starts the app with a scenario, and a driver with limits.
func newRig(t testing.TB, scenario map[string]any, limits driver.Limits) *rig {
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
	r.start(scenario)
	r.drive(limits)
	return r
}

func (r *rig) start(scenario map[string]any) {
	r.t.Helper()
	r.write("scenario.json", scenario)
	var err error
	r.process, err = process.Start(process.Spec{Path: r.path, Args: flags, Dir: r.home, Env: r.env()})
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

func (r *rig) drive(limits driver.Limits) {
	r.t.Helper()
	var err error
	r.driver, err = driver.New(r.t.Context(), driver.Options{
		Accessibility: sessiontest.Getenv(r.session, "AT_SPI_BUS_ADDRESS"),
		Display:       sessiontest.Getenv(r.session, "DISPLAY"),
		Owns: func(pid int) bool {
			group, err := unix.Getpgid(pid)
			return err == nil && group == r.process.PID()
		},
		Open:   r.handOff,
		Limits: limits,
	})
	must(r.t, err)
	r.t.Cleanup(r.driver.Close)
}

// flags are those that the client starts the app with (contract §4.1).
var flags = []string{
	"--no-sandbox", "--ozone-platform=x11", "--force-renderer-accessibility", "--disable-gpu", "--disable-dev-shm-usage",
}

func (r *rig) env() []string {
	env := slices.DeleteFunc(r.session.Env(), func(kv string) bool { return strings.HasPrefix(kv, "HOME=") })
	return append(env, "HOME="+r.home, "PATH=/usr/bin:/bin", "LANG=C.UTF-8",
		"CHATGPT_STANDIN_SCENARIO="+filepath.Join(r.home, "scenario.json"))
}

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

// restart begins another scenario in the same window.
func (r *rig) restart(scenario map[string]any) {
	r.t.Helper()
	_, err := r.second(r.t.Context(), "chatgpt-standin://scenario?file="+url.QueryEscape(r.write("next.json", scenario)))
	must(r.t, err)
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

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
