package desktop

import (
	"encoding/json"
	"maps"
	"strings"
	"syscall"
	"testing"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/e2e/rig"
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
	p := newChatGPT(t, suite, rig.SayCases("one", "two"), func(eval rig.Object) {
		eval["variants"] = []rig.Object{
			{"name": "work"},
			{"name": "codex", "model": rig.CodeMode, "clientOptions": rig.Object{"surface": "codex"}},
			{"name": "engine", "client": "berth/client/codex"},
		}
	})
	g := p.NewGate(rig.Echo)
	r := p.Run()
	r.Expect(t, 0)
	want := map[string]string{}
	for _, variant := range []string{"work", "codex", "engine"} {
		want[variant+"/one"], want[variant+"/two"] = "passed", "passed"
	}
	if got := r.Outcomes(t); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if steps := r.Record(t).Runner.Shards[0].StepsMs; steps["desktop"] <= 0 || steps["desktop.windows"] <= 0 {
		t.Errorf("the desktop's times aren't told: %v", steps)
	}
	sentOnce(p, g, r)
	p.NothingLeft()
}

// sentOnce checks that every trial has one turn at the gateway, its own, and one Send in its log.
func sentOnce(p *rig.Project, g *rig.Gate, r rig.Result) {
	p.T.Helper()
	turns := map[string]bool{}
	for _, e := range g.Entries() {
		if e.TurnID != "" {
			turns[e.TurnID] = true
		}
	}
	run, err := results.Open("", r.Dir)
	if err != nil {
		p.T.Fatal(err)
	}
	trials, err := run.Trials()
	if err != nil {
		p.T.Fatal(err)
	}
	for key, trial := range trials {
		session, _ := trial.ClientMetadata["session"].(map[string]any)
		id, _ := session["turnId"].(string)
		if !turns[id] {
			p.T.Errorf("%v: the gateway was asked for no turn %q, or another trial had it", key, id)
		}
		delete(turns, id)
		if n := sends(p.T, trial); n != 1 && key.Variant != "engine" {
			p.T.Errorf("%v: Send was activated %d times", key, n)
		}
	}
	if len(turns) > 0 {
		p.T.Errorf("turns of no trial: %v", turns)
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
	p := newChatGPT(t, suite, rig.SayCases(append(ids, "last")...))
	g := p.NewGate(rig.Echo)
	holds := map[string]*rig.Hold{}
	for _, f := range faults {
		holds[f.name] = g.Hold("say " + f.name)
	}
	c := p.Start()
	for _, f := range faults {
		holds[f.name].Await(t)
		_, up := p.Running()
		rig.Kill(t, rig.ProcessIn(t, up[0], f.words...), syscall.SIGKILL)
		c.AwaitTrial(f.name)
	}
	r := c.Wait()
	r.Expect(t, 4)
	if got := r.Outcomes(t); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for _, f := range faults {
		trial := r.Trials(t)[f.name]
		if kind := rig.FailureCode(trial); kind != string(f.kind) || !strings.Contains(trial.Error, f.line) {
			t.Errorf("%s: %s: %s\nwant %s: %s", f.name, kind, trial.Error, f.kind, f.line)
		}
	}
	p.NothingLeft()
}

// TestAppKilled: the app's own end fails its trial, and says how it ended.
func TestAppKilled(t *testing.T) { onSuites(t, appKilled) }

func appKilled(t *testing.T, suite string) {
	p := newChatGPT(t, suite, rig.SayCases("first", "second", "third"))
	m := p.Midway()
	rig.Kill(t, rig.ProcessIn(t, m.Shard, "/usr/bin/chatgpt", "--no-sandbox"), syscall.SIGKILL)
	r := m.Run.Wait()
	r.Expect(t, 1, "app_exited: the app ended by itself (signal: killed)")
	r.Ended(t, "passed", "failed", "passed")
	p.NothingLeft()
}

// TestChatGPTInterrupt: Ctrl-C ends an app on its desktop as it does one without.
func TestChatGPTInterrupt(t *testing.T) {
	newChatGPT(t, testrig.Suites[0], rig.SayCases("first", "second", "third")).Midway().Interrupted()
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
			p := newChatGPT(t, suite, rig.SayCases("one"))
			p.UseImage(damagedImage(t, desktopImage(t, suite), func(container string) { tt.damage(t, container) }))
			r := p.Rehearse(rig.Echo)
			r.Expect(t, 4, tt.line)
			if got, want := r.Outcomes(t), (map[string]string{"one": "infra"}); !maps.Equal(got, want) {
				t.Errorf("%v, want %v", got, want)
			}
			p.NothingLeft()
		})
	}
}
