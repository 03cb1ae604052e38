package e2e

import (
	"encoding/json"
	"maps"
	"strings"
	"syscall"
	"testing"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/results"
	"github.com/berth-run/berth/internal/testrig"
	"github.com/berth-run/berth/session/client/chatgpt/driver"
	"github.com/berth-run/berth/session/sessiontest"
)

// TestChatGPT runs both surfaces of the app and Codex itself, one after the other in one shard: each
// batch on the shard's one desktop, with a fresh profile, through all of the first-run screens. Every
// prompt is sent once.
func TestChatGPT(t *testing.T) { onSuites(t, chatGPT) }

func chatGPT(t *testing.T, suite string) {
	p := newChatGPT(t, suite, sayCases("one", "two"), func(eval object) {
		eval["variants"] = []object{
			{"name": "work"},
			{"name": "codex", "model": codeMode, "clientOptions": object{"surface": "codex"}},
			{"name": "engine", "client": "berth/client/codex"},
		}
	})
	g := p.newGate(echo)
	r := p.run()
	r.expect(t, 0)
	want := map[string]string{}
	for _, variant := range []string{"work", "codex", "engine"} {
		want[variant+"/one"], want[variant+"/two"] = "passed", "passed"
	}
	if got := r.outcomes(t); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if steps := r.record(t).Runner.Shards[0].StepsMs; steps["desktop"] <= 0 || steps["desktop.windows"] <= 0 {
		t.Errorf("the desktop's times aren't told: %v", steps)
	}
	p.sentOnce(g, r)
	p.nothingLeft()
}

// sentOnce checks that every trial has one turn at the gateway, its own, and one Send in its log.
func (p *project) sentOnce(g *gate, r result) {
	p.t.Helper()
	turns := map[string]bool{}
	for _, e := range g.entries() {
		if e.TurnID != "" {
			turns[e.TurnID] = true
		}
	}
	run, err := results.Open("", r.dir)
	if err != nil {
		p.t.Fatal(err)
	}
	trials, err := run.Trials()
	if err != nil {
		p.t.Fatal(err)
	}
	for key, trial := range trials {
		session, _ := trial.ClientMetadata["session"].(map[string]any)
		id, _ := session["turnId"].(string)
		if !turns[id] {
			p.t.Errorf("%v: the gateway was asked for no turn %q, or another trial had it", key, id)
		}
		delete(turns, id)
		if n := sends(p.t, trial); n != 1 && key.Variant != "engine" {
			p.t.Errorf("%v: Send was activated %d times", key, n)
		}
	}
	if len(turns) > 0 {
		p.t.Errorf("turns of no trial: %v", turns)
	}
}

// sends counts the activations of Send in a trial's log.
func sends(t *testing.T, trial *results.Trial) int {
	t.Helper()
	var telemetry struct {
		NativeController struct {
			Submission driver.Receipt `json:"submission"`
		} `json:"nativeController"`
	}
	body, err := json.Marshal(trial.ClientTelemetry)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(body, &telemetry); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, a := range telemetry.NativeController.Submission.Steps {
		if a.Step == string(driver.Send) {
			n++
		}
	}
	return n
}

// TestDesktopFaults kills one service of the desktop after the other, each in the middle of a trial:
// that trial is lost to infrastructure and says which service it was, and the next has a new desktop.
func TestDesktopFaults(t *testing.T) { onSuites(t, desktopFaults) }

func desktopFaults(t *testing.T, suite string) {
	faults := []struct {
		name  string
		words []string // of the process's command line
		kind  code.Code
		line  string
	}{
		{"display", []string{"/usr/bin/Xvfb"}, code.SessionFailed, "display (Xvfb) ended: signal: killed"},
		{"bus", []string{"dbus-daemon", "--session"}, code.SessionFailed, "bus (dbus-daemon) ended: signal: killed"},
		{"keyring", []string{"gnome-keyring-daemon"}, code.KeyringAbsent, "keyring (gnome-keyring-daemon) ended: signal: killed"},
		{"launcher", []string{"at-spi-bus-launcher"}, code.SessionFailed, "accessibility (at-spi-bus-launcher) ended: signal: killed"},
		{"registry", []string{"at-spi2-registryd"}, code.SessionFailed, "registry (at-spi2-registryd) ended: signal: killed"},
		{"windows", []string{"/usr/bin/openbox"}, code.SessionFailed, "windows (openbox) ended: signal: killed"},
	}
	ids, want := []string{"first"}, map[string]string{"first": "passed", "last": "passed"}
	for _, f := range faults {
		ids = append(ids, f.name)
		want[f.name] = "infra"
	}
	p := newChatGPT(t, suite, sayCases(append(ids, "last")...))
	g := p.newGate(echo)
	holds := map[string]*hold{}
	for _, f := range faults {
		holds[f.name] = g.hold("say " + f.name)
	}
	c := p.start()
	for _, f := range faults {
		holds[f.name].await(t)
		_, up := p.running()
		kill(t, processIn(t, up[0], f.words...), syscall.SIGKILL)
		c.awaitTrial(f.name)
	}
	r := c.wait()
	r.expect(t, 4)
	if got := r.outcomes(t); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for _, f := range faults {
		trial := r.trials(t)[f.name]
		if kind := failureKind(trial); kind != string(f.kind) || !strings.Contains(trial.Error, f.line) {
			t.Errorf("%s: %s: %s\nwant %s: %s", f.name, kind, trial.Error, f.kind, f.line)
		}
	}
	p.nothingLeft()
}

// TestAppKilled: the app's own end fails its trial, and says how it ended.
func TestAppKilled(t *testing.T) { onSuites(t, appKilled) }

func appKilled(t *testing.T, suite string) {
	p := newChatGPT(t, suite, sayCases("first", "second", "third"))
	m := p.midway()
	kill(t, processIn(t, m.shard, "/usr/bin/chatgpt", "--no-sandbox"), syscall.SIGKILL)
	r := m.run.wait()
	r.expect(t, 1, "app_exited: the app ended by itself (signal: killed)")
	r.ended(t, "passed", "failed", "passed")
	p.nothingLeft()
}

// TestChatGPTInterrupt: Ctrl-C ends an app on its desktop as it does one without.
func TestChatGPTInterrupt(t *testing.T) {
	newChatGPT(t, testrig.Suites[0], sayCases("first", "second", "third")).midway().interrupted()
}

// TestKeyringFaults: an app that couldn't get at its secrets would sit on its splash for good. The run
// says so before it is started.
func TestKeyringFaults(t *testing.T) { onSuites(t, keyringFaults) }

func keyringFaults(t *testing.T, suite string) {
	const daemon = "/usr/bin/gnome-keyring-daemon"
	tests := map[string]struct {
		damage func(t *testing.T, container string)
		line   string
	}{
		"locked": {func(t *testing.T, container string) {
			copyFile(t, container, daemon, "/opt/daemon")
			putFile(t, container, "/opt/locked.keyring", string(sessiontest.LockedKeyring), 0o644)
			putFile(t, container, daemon, "#!/bin/sh\ncp /opt/locked.keyring $XDG_DATA_HOME/keyrings/login.keyring\nexec /opt/daemon \"$@\"\n", 0o755)
		}, "keyring_locked: the login keyring has a password"},
		"absent": {func(t *testing.T, container string) {
			putFile(t, container, daemon, "", 0o644)
		}, "keyring_absent: keyring (gnome-keyring-daemon) isn't installed"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := newChatGPT(t, suite, sayCases("one"))
			p.useImage(damagedImage(t, desktopImage(t, suite), func(container string) { tt.damage(t, container) }))
			r := p.rehearse(echo)
			r.expect(t, 4, tt.line)
			if got, want := r.outcomes(t), (map[string]string{"one": "infra"}); !maps.Equal(got, want) {
				t.Errorf("%v, want %v", got, want)
			}
			p.nothingLeft()
		})
	}
}
