package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/berth-run/berth/session/atspi"
	"github.com/berth-run/berth/session/client/rollout"
	"github.com/berth-run/berth/session/sessiontest"
)

// family are a process and all that came of it.
func family(t *testing.T, pid int) []int {
	t.Helper()
	all := []int{pid}
	for i := 0; i < len(all); i++ {
		tasks, err := filepath.Glob("/proc/" + strconv.Itoa(all[i]) + "/task/*/children")
		must(t, err)
		for _, path := range tasks {
			children, _ := os.ReadFile(path) // a thread may have ended
			for _, f := range strings.Fields(string(children)) {
				child, err := strconv.Atoi(f)
				must(t, err)
				all = append(all, child)
			}
		}
	}
	return all
}

func alive(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

// gone waits until the app and all its processes have ended, and gives the app's exit.
func (r *rig) gone(family []int) string {
	r.t.Helper()
	r.poll("the app's end", func() bool { return r.process.Exit() != "" })
	for _, pid := range family {
		r.poll("the end of process "+strconv.Itoa(pid), func() bool { return !alive(pid) })
	}
	return r.process.Exit()
}

func TestEnds(t *testing.T) {
	s := desk(t)
	for name, tt := range map[string]struct {
		scenario, exit string
		do             func(*rig)
	}{
		"asked to": {`{` + noKeyring + `}`, "exit status 0", func(r *rig) { must(r.t, syscall.Kill(r.process.PID(), syscall.SIGTERM)) }},
		"killed":   {`{` + noKeyring + `}`, "signal: killed", func(r *rig) { must(r.t, syscall.Kill(r.process.PID(), syscall.SIGKILL)) }},
		"its window closes": {`{` + noKeyring + `}`, "exit status 0", func(r *rig) {
			r.await("the focus", func(tree *atspi.Tree) bool { return tree.Root().Children[0].States.Has(atspi.StateActive) })
			must(r.t, r.display.Press(r.t.Context(), 0xffe9, 0xffc1)) // Alt+F4
		}},
		"crash":                     {`{` + noKeyring + `, "screens": [{"kind": "blank", "crash": "exit"}]}`, "exit status 133", nil},
		"crash at a hand-off":       {`{` + noKeyring + `, "handoff": {"crash": "kill"}}`, "signal: killed", func(r *rig) { r.second("codex://new?prompt=x") }},
		"killed at the main screen": {`{` + noKeyring + `, "main": {"crash": "kill"}}`, "signal: killed", nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, s)
			r.start(tt.scenario)
			all := []int{r.process.PID()}
			if tt.do != nil {
				r.find()
				r.one(composer)
				all = family(t, r.process.PID())
				tt.do(r)
			}
			if got := r.gone(all); got != tt.exit {
				t.Errorf("the app's end: %s, want %s", got, tt.exit)
			}
		})
	}
}

func TestLinkThatStartsTheApp(t *testing.T) {
	r := newRig(t, desk(t))
	r.start(`{`+noKeyring+`}`, "codex://new?prompt=lost")
	r.find()
	r.one(composer)
	if got := r.draft(); got != "" || len(r.lines("handoff")) > 0 {
		t.Errorf("the draft is %q", got)
	}
}

func TestCodexThatIsMissing(t *testing.T) {
	t.Setenv("BERTH_CODEX", "/nonexistent")
	r := newRig(t, desk(t))
	r.start(`{` + noKeyring + `}`)
	r.find()
	r.one(composer)
	r.handOff("say")
	r.press("Send", "press")
	r.press("Try again", "press")
	r.one(composer)
}

// In a shard the app runs without Chromium's sandbox, and no bar that warns of it moves the page.
func TestNoSandbox(t *testing.T) {
	r := newRig(t, desk(t))
	r.start(`{`+noKeyring+`}`, "--no-sandbox")
	r.find()
	r.one(composer)
	r.count(0, atspi.Query{Roles: []atspi.Role{atspi.RoleAlert}})
	r.count(0, named("Close"))
}

// Without the flag, Chromium publishes its window and not what is in it.
func TestNotAccessible(t *testing.T) {
	r := newRig(t, desk(t))
	flags := appFlags
	t.Cleanup(func() { appFlags = flags })
	appFlags = []string{"--ozone-platform=x11", "--disable-gpu"}
	r.start(`{` + noKeyring + `}`)
	r.poll("the main screen", func() bool { return len(r.screens()) == 1 })
	bus, err := atspi.Open(t.Context(), sessiontest.Getenv(r.session, "DBUS_SESSION_BUS_ADDRESS"))
	must(t, err)
	t.Cleanup(bus.Close)
	app, err := bus.Find(within(t), atspi.Identity{Names: []string{"chromium"}})
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second) // a window with the flag needs none of it
	defer cancel()
	if _, err := app.Ready(ctx); !errors.Is(err, atspi.ErrNotEnabled) {
		t.Errorf("got %v, want %v", err, atspi.ErrNotEnabled)
	}
}

// A Codex that ends is told of, and one that is needed again is started.
func TestCodexThatEnds(t *testing.T) {
	r := newRig(t, desk(t))
	r.withCodex(script)
	r.start(`{` + noKeyring + `}`)
	r.find()
	r.one(composer)
	r.journalled("codex", line{})
	for _, pid := range r.codex() {
		must(t, syscall.Kill(pid, syscall.SIGKILL))
	}
	r.one(heading("Something went wrong"))
	r.press("Try again", "press")
	r.one(composer)
	r.ask("Four words?", rollout.MatchExact, "codex_work_desktop")
}

// codex are the processes of the app's Codex.
func (r *rig) codex() (pids []int) {
	r.t.Helper()
	for _, pid := range family(r.t, r.process.PID()) {
		line, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline") // it may have ended
		if strings.Contains(string(line), "\x00app-server\x00") {
			pids = append(pids, pid)
		}
	}
	return pids
}
