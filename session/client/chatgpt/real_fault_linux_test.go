package chatgpt

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/redact"
	"github.com/berth-run/berth/session/client"
	"github.com/berth-run/berth/session/client/evidence"
	"github.com/berth-run/berth/session/client/private"
	"github.com/berth-run/berth/session/sessiontest"
)

// plain is an app that shows its composer at once.
const plain = `{}`

// failureFiles are the evidence of a trial that failed after its record was found, or after another's.
func failureFiles(label string) []string {
	return []string{"matched-rollout", label + "-screenshot.png", client.AnsweredTreeFile, "chatgpt-app.log", "steps.jsonl"}
}

// TestStalledThenNext: a trial whose turn stands still fails; the app is started anew with the same
// profile, and the next trial runs.
func TestStalledThenNext(t *testing.T) {
	r := newRig(t, script, plain)
	r.client.opts.Limits.Turn.Stall = 2 * time.Second
	s := r.open()
	first := s.(closing).Session.(*batch).app.process.PID()
	res := s.Run(within(t, unhurried), client.Trial{CaseID: "stalled", Prompt: "hang"})
	if res.FailureCode != code.Timeout || res.Infrastructure || !res.Submitted || !strings.Contains(res.Error, "has not grown for 2s") {
		t.Fatalf("%s: %s (infrastructure %v)", res.FailureCode, res.Error, res.Infrastructure)
	}
	if files := r.files(res); !slices.Equal(files, failureFiles("stall")) {
		t.Errorf("evidence %v", files)
	}
	if p := processesWith(t, r.client.opts.Home); len(p) != 0 {
		t.Errorf("left after a failed trial: %v", p)
	}
	r.client.opts.Limits.Turn.Stall = time.Minute
	next := r.passes(s, client.Trial{CaseID: "next", Prompt: "hello"})
	if again := s.(closing).Session.(*batch).app.process.PID(); again == first || next.Steps[StepPrepare] == 0 {
		t.Errorf("the app wasn't started anew: steps %v", next.Steps)
	}
	if l := next.Telemetry["batchLifecycle"].(map[string]any); l["recoveryCount"] != 1 {
		t.Errorf("lifecycle %v", l)
	}
	if n := r.journal()["send"]; n != 2 {
		t.Errorf("%d prompts were sent, want 2", n)
	}
}

// during runs a trial that hangs, and meanwhile does something once its prompt is recorded.
func (r *rig) during(s client.Session, do func()) client.Result {
	r.t.Helper()
	done := make(chan client.Result, 1)
	go func() { done <- s.Run(within(r.t, unhurried), client.Trial{CaseID: "case", Prompt: "hang"}) }()
	pattern := filepath.Join(r.client.opts.Home, ".codex/sessions/*/*/*/rollout-*.jsonl")
	for ctx := within(r.t, unhurried); ; {
		paths, _ := filepath.Glob(pattern)
		if slices.ContainsFunc(paths, func(p string) bool {
			b, _ := os.ReadFile(p)
			return strings.Contains(string(b), `"UserMessage"`)
		}) {
			break
		}
		select {
		case res := <-done:
			r.t.Fatalf("ended before: %s: %s", res.FailureCode, res.Error)
		case <-ctx.Done():
			r.t.Fatal("no record of the prompt")
		case <-time.After(10 * time.Millisecond):
		}
	}
	do()
	return <-done
}

// TestAppKilled: an app that ends in the middle of a turn ends the trial at once, and the next one has
// another app.
func TestAppKilled(t *testing.T) {
	r := newRig(t, script, plain)
	s := r.open()
	app := s.(closing).Session.(*batch).app.process
	res := r.during(s, func() { must(t, syscall.Kill(app.PID(), syscall.SIGKILL)) })
	if res.FailureCode != code.AppExited || !res.Submitted || res.Infrastructure || !strings.Contains(res.Error, "signal: killed") {
		t.Errorf("%s: %s (infrastructure %v)", res.FailureCode, res.Error, res.Infrastructure)
	}
	if res.SessionID == "" || res.Trace == nil || res.Metadata["evidence"] == nil {
		t.Errorf("the record wasn't kept: %+v", res)
	}
	r.passes(s, client.Trial{CaseID: "next", Prompt: "hello"})
}

// TestDesktopKilled: so does a desktop that ends, by the name of what ended.
func TestDesktopKilled(t *testing.T) {
	for name, tc := range map[string]struct {
		program string
		want    code.Code
		text    string
	}{
		"display":  {"Xvfb", code.SessionFailed, "display (Xvfb) ended: signal: killed"},
		"bus":      {"dbus-daemon --session", code.SessionFailed, "bus (dbus-daemon) ended: signal: killed"},
		"keyring":  {"gnome-keyring-daemon", code.KeyringAbsent, "keyring (gnome-keyring-daemon) ended: signal: killed"},
		"registry": {"at-spi2-registryd", code.SessionFailed, "registry (at-spi2-registryd) ended: signal: killed"},
		"windows":  {"openbox", code.SessionFailed, "windows (openbox) ended: signal: killed"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, script, plain)
			s := r.open()
			runtime := sessiontest.Getenv(r.desktop, "XDG_RUNTIME_DIR")
			res := r.during(s, func() { killService(t, runtime, tc.program) })
			if res.FailureCode != tc.want || !res.Submitted || !res.Infrastructure || !strings.Contains(res.Error, tc.text) {
				t.Errorf("%s: %s (infrastructure %v)", res.FailureCode, res.Error, res.Infrastructure)
			}
			if name == "display" {
				r.desktop = sessiontest.Start(t)
				r.passes(s, client.Trial{CaseID: "next", Prompt: "hello"})
				return
			}
			next := s.Run(within(t, unhurried), client.Trial{CaseID: "next", Prompt: "hello"})
			if next.FailureCode != tc.want || next.Submitted || !next.Infrastructure {
				t.Errorf("the next: %s: %s", next.FailureCode, next.Error)
			}
		})
	}
}

// killService kills the session's service whose command line has text in it.
func killService(t *testing.T, runtime, text string) {
	t.Helper()
	for _, p := range processesWith(t, runtime) {
		dir, cmdline, _ := strings.Cut(p, " ")
		if program, args, _ := strings.Cut(cmdline, " "); strings.Contains(filepath.Base(program)+" "+args, text) {
			pid, err := strconv.Atoi(filepath.Base(dir))
			must(t, err)
			must(t, syscall.Kill(pid, syscall.SIGKILL))
			return
		}
	}
	t.Fatalf("no %s in %v", text, processesWith(t, runtime))
}

// TestHandoffRefused: a second start that fails is a trial that wasn't submitted.
func TestHandoffRefused(t *testing.T) {
	r := newRig(t, script, `{"handoff": {"after": 2, "exit": 3, "ignored": true}}`)
	const before, value = "the prompt of the case before", "a value of the user's"
	r.batch.Options = json.RawMessage(`{"env": {"PRIVATE": "` + value + `"}}`)
	s := r.open()
	r.passes(s, client.Trial{CaseID: "before", Prompt: before})
	res := s.Run(within(t, unhurried), client.Trial{CaseID: "refused", Prompt: "hello"})
	if res.FailureCode != code.URLHandoffFailed || res.Submitted || !res.Infrastructure || !strings.Contains(res.Error, "exit status 3") {
		t.Errorf("%s: %s (submitted %v)", res.FailureCode, res.Error, res.Submitted)
	}
	if files := r.files(res); !slices.Equal(files, failureFiles("submit")[1:]) {
		t.Errorf("evidence %v", files)
	}
	for _, a := range res.Metadata["artifacts"].([]evidence.Artifact) {
		b, err := os.ReadFile(filepath.Join(r.batch.EvidenceDir, a.Path))
		must(t, err)
		if strings.Contains(string(b), before) || strings.Contains(string(b), value) {
			t.Errorf("%s has something of another case, or of the environment:\n%s", a.Path, b)
		}
	}
	if tree := r.kept(res, client.AnsweredTreeFile); !strings.Contains(tree, redact.Mask) {
		t.Errorf("the case before wasn't on screen:\n%s", tree)
	}
	if n := r.journal()["send"]; n != 1 || len(r.requests()) != 1 {
		t.Errorf("%d prompts were sent, want that of the case before", n)
	}
}

// kept is a file of a trial's evidence.
func (r *rig) kept(res client.Result, name string) string {
	r.t.Helper()
	for _, a := range res.Metadata["artifacts"].([]evidence.Artifact) {
		if filepath.Base(a.Path) == name {
			b, err := os.ReadFile(filepath.Join(r.batch.EvidenceDir, a.Path))
			must(r.t, err)
			return string(b)
		}
	}
	r.t.Fatalf("no %s", name)
	return ""
}

// TestOpenFails: a batch that can't be opened says why, keeps what showed it, and leaves nothing.
func TestOpenFails(t *testing.T) {
	for name, tc := range map[string]struct {
		scenario string
		spoil    func(*rig)
		want     code.Code
		text     string
		files    bool
	}{
		"a screen that nobody knows": {`{"screens": [{"kind": "unknown", "title": "What's new"}]}`, (*rig).waitLess, code.StateTransitionUnobserved, "", true},
		"an app that ends":           {`{"splash": {"crash": "exit", "delayMs": 60000}}`, func(*rig) {}, code.AppExited, "exit status 133", true},
		"a locked keyring":           {plain, (*rig).lockKeyring, code.KeyringLocked, "login keyring is locked", true},
		"a profile that is there":    {plain, func(r *rig) { must(r.t, os.Mkdir(r.client.opts.Home, 0o700)) }, code.HomeNotFresh, "is there already", true},
		"no app":                     {plain, func(r *rig) { r.client.opts.AppPath = "/no/such/app" }, code.AppPathInvalid, "/no/such/app", false},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, script, tc.scenario)
			tc.spoil(r)
			_, err := r.client.Open(within(t, unhurried), r.batch)
			if code.Of(err) != tc.want || !strings.Contains(err.Error(), tc.text) {
				r.show()
				t.Fatalf("error %v, want %s with %q", err, tc.want, tc.text)
			}
			kept, _ := filepath.Glob(filepath.Join(r.batch.EvidenceDir, "prepare-*", "prepare-screenshot.png"))
			if (len(kept) == 1) != tc.files {
				t.Errorf("pictures %v", kept)
			}
			if tc.want == code.HomeNotFresh {
				must(t, private.CheckDir(r.client.opts.Home)) // it's another's
				must(t, os.Remove(r.client.opts.Home))
			}
			r.checkGone()
		})
	}
}

// waitLess is for a screen that won't come.
func (r *rig) waitLess() { r.client.opts.Limits.Driver.FirstUI = 10 * time.Second }

func (r *rig) lockKeyring() {
	r.t.Helper()
	var locked []dbus.ObjectPath
	var prompt dbus.ObjectPath
	login := []dbus.ObjectPath{"/org/freedesktop/secrets/collection/login"}
	call := r.desktop.Bus().Object("org.freedesktop.secrets", "/org/freedesktop/secrets").Call("org.freedesktop.Secret.Service.Lock", 0, login)
	must(r.t, call.Store(&locked, &prompt))
}

// TestLostWhileStarting: what an app on its splash can't do without isn't waited for.
func TestLostWhileStarting(t *testing.T) {
	kill := func(text string) func(*rig) {
		return func(r *rig) { killService(r.t, sessiontest.Getenv(r.desktop, "XDG_RUNTIME_DIR"), text) }
	}
	for name, tc := range map[string]struct {
		lose func(*rig)
		want code.Code
		text string
	}{
		"keyring locked": {(*rig).lockKeyring, code.KeyringLocked, "is locked"},
		"keyring":        {kill("gnome-keyring-daemon"), code.KeyringAbsent, "keyring (gnome-keyring-daemon) ended"},
		"display":        {kill("Xvfb"), code.SessionFailed, "display (Xvfb) ended"},
		"bus":            {kill("dbus-daemon --session"), code.SessionFailed, "bus (dbus-daemon) ended"},
		"registry":       {kill("at-spi2-registryd"), code.SessionFailed, "registry (at-spi2-registryd) ended"},
		"app":            {(*rig).killApp, code.AppExited, "signal: killed"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, script, `{"splash": {"until": "never"}}`)
			opened := make(chan error, 1)
			go func() {
				_, err := r.client.Open(within(t, unhurried), r.batch)
				opened <- err
			}()
			r.awaitApp()
			tc.lose(r)
			if err := <-opened; code.Of(err) != tc.want || !strings.Contains(err.Error(), tc.text) {
				t.Errorf("error %v, want %s with %q", err, tc.want, tc.text)
			}
			r.checkGone()
		})
	}
}

// awaitApp waits until the stand-in says that it's there.
func (r *rig) awaitApp() {
	r.t.Helper()
	journal := filepath.Join(r.dir, "state", "chatgpt-standin.jsonl")
	for ctx := within(r.t, unhurried); ; time.Sleep(10 * time.Millisecond) {
		if b, _ := os.ReadFile(journal); strings.Contains(string(b), `"scenario"`) {
			return
		}
		must(r.t, ctx.Err())
	}
}

// killApp kills the process that the client started; the wrapper has become the app.
func (r *rig) killApp() {
	r.t.Helper()
	for _, p := range processesWith(r.t, "--ozone-platform=x11") {
		dir, cmdline, _ := strings.Cut(p, " ")
		cwd, _ := os.Readlink(filepath.Join(dir, "cwd"))
		if cwd == r.client.opts.Home && !strings.Contains(cmdline, "chromium") {
			pid, err := strconv.Atoi(filepath.Base(dir))
			must(r.t, err)
			must(r.t, syscall.Kill(pid, syscall.SIGKILL))
			return
		}
	}
	r.t.Fatal("no app")
}

// TestTools: what a variant says of its servers is held against what was called; that needs no new start
// of the app.
func TestTools(t *testing.T) {
	r := newRig(t, script, plain)
	r.batch.Options = json.RawMessage(`{"requireMcpCalls": true}`)
	r.batch.Servers = []client.Server{notes(t, "my-notes")}
	s := r.open()
	first := s.(closing).Session.(*batch).app.process.PID()
	res := s.Run(within(t, unhurried), client.Trial{CaseID: "none", Prompt: "hello"})
	if res.FailureCode != code.ClientRunFailed || res.Infrastructure || !strings.Contains(res.Error, "requireMcpCalls") {
		t.Errorf("%s: %s", res.FailureCode, res.Error)
	}
	next := r.passes(s, client.Trial{CaseID: "one", Prompt: "add 19 and 23"})
	if again := s.(closing).Session.(*batch).app.process.PID(); again != first {
		t.Error("the app was started anew")
	}
	if sel := next.Telemetry["mcpSelection"].(map[string]any); sel["status"] != "ok" || sel["configuredMcpCallCount"] != 1 {
		t.Errorf("selection %v", sel)
	}
}

// TestUpstream: a gateway that refuses isn't the app's failure.
func TestUpstream(t *testing.T) {
	r := newRig(t, script, plain)
	s := r.open()
	res := s.Run(within(t, unhurried), client.Trial{CaseID: "429", Prompt: "429"})
	if res.FailureCode != code.ClientRunFailed || !res.Infrastructure || !res.Submitted || !strings.Contains(res.Error, "HTTP 429") {
		t.Errorf("%s: %s (infrastructure %v)", res.FailureCode, res.Error, res.Infrastructure)
	}
}

// TestLeftBehind: an agent that leaves processes in sessions of their own and locks its workspace.
func TestLeftBehind(t *testing.T) {
	r := newRig(t, script, plain)
	s := r.open()
	res := r.passes(s, client.Trial{CaseID: "left", Prompt: "leave"})
	if !strings.Contains(res.Trace.FinalText, "left") {
		t.Errorf("answer %q", res.Trace.FinalText)
	}
	must(t, s.Close(context.Background())) // looks for what is left
}
