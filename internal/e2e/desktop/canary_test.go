package desktop

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/berth-run/berth/internal/e2e/rig"
	"github.com/berth-run/berth/internal/eval"
	"github.com/berth-run/berth/internal/results"
	"github.com/berth-run/berth/internal/testrig"
	"github.com/berth-run/berth/session/client/chatgpt/driver"
)

// changedLabels is the stand-in as a later version, in which two buttons say something else.
const changedLabels = `{
	"screens": [{"kind": "profession", "stale": true}, {"kind": "examples"}, {"kind": "confirm"}, {"kind": "announcement"}],
	"labels": {"skip": "Skip for now", "work": "ChatGPT for work"}
}`

// TestCanary: two labels that a new version has changed are found, each on its screen, and no other.
func TestCanary(t *testing.T) {
	suite := testrig.Suites[0]
	p := newChatGPT(t, suite, rig.SayCases("one"))
	p.UseImage(scenarioImage(t, suite, changedLabels))
	missesTwo(t, canary(t, p, 1))
	if len(p.Runs()) > 0 {
		t.Error("it wrote a run")
	}
	p.NothingLeft()
}

// missesTwo holds what was found against changedLabels.
func missesTwo(t *testing.T, found eval.Canary) {
	t.Helper()
	want := map[string]string{"Skip": "Skip for now", "ChatGPT Work Create, learn, and explore": "ChatGPT for work"}
	for _, l := range found.Lost() {
		if instead, ok := want[l.Label]; !ok || instead != l.Instead {
			t.Errorf("lost %+v", l)
		}
		delete(want, l.Label)
	}
	if len(want) > 0 {
		t.Errorf("not missed: %v", want)
	}
	if !found.Ready || found.Version == "" || found.App != "chatgpt-standin" {
		t.Errorf("%+v", found)
	}
	for _, s := range found.Screens {
		if !s.Seen {
			t.Errorf("it didn't see the %s screen", s.Screen)
		}
	}
}

// TestWarmProfile: an app that is as it was has nothing to tell, and its state, saved at its composer, spares
// another run the first-run screens. The config is the batch's own all the same.
func TestWarmProfile(t *testing.T) {
	suite := testrig.Suites[0]
	p := newChatGPT(t, suite, rig.SayCases("one"))
	p.UseImage(scenarioImage(t, suite, `{
		"screens": [{"kind": "profession"}, {"kind": "examples"}, {"kind": "confirm"}, {"kind": "announcement"}], "remember": true}`))
	dir := p.Path("profile")
	if found := canary(t, p, 0, "--save-profile", dir); !found.Ready || len(found.Lost()) > 0 {
		t.Errorf("%+v", found)
	}
	if _, err := os.Stat(filepath.Join(dir, ".codex", "config.toml")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a config was saved: %v", err)
	}
	p.NewGate(rig.Echo)
	p.Options = append(p.Options, "profile=warm", "profileDir="+dir)
	r := p.Run()
	r.Expect(t, 0)
	if got := r.Outcomes(t); got["one"] != "passed" {
		t.Errorf("%v", got)
	}
	record := r.Record(t)
	if record.Environment.Options["profile"] != "warm" || !strings.Contains(strings.Join(record.Runner.Notes, "; "), "profile=warm") {
		t.Errorf("the record says %v, %v", record.Environment.Options, record.Runner.Notes)
	}
	if seen := screensSeen(t, r.Trials(t)["one"]); len(seen) == 0 || slices.Contains(seen, "profession") || slices.Contains(seen, "announcement") {
		t.Errorf("saw %q", seen)
	}
	p.NothingLeft()
}

// screensSeen are those of a trial's set-up.
func screensSeen(t *testing.T, trial *results.Trial) (names []string) {
	t.Helper()
	var telemetry struct {
		BatchLifecycle struct {
			Profile     string         `json:"profile"`
			NativeSetup driver.Receipt `json:"nativeSetup"`
		} `json:"batchLifecycle"`
	}
	body, err := json.Marshal(trial.ClientTelemetry)
	if err == nil {
		err = json.Unmarshal(body, &telemetry)
	}
	if err != nil {
		t.Fatal(err)
	}
	if telemetry.BatchLifecycle.Profile != "warm" {
		t.Errorf("the trial doesn't say that its profile was warm")
	}
	for _, s := range telemetry.BatchLifecycle.NativeSetup.Seen {
		names = append(names, s.Screen)
	}
	return names
}

// canary runs it on the project's config and image.
func canary(t *testing.T, p *rig.Project, status int, more ...string) (found eval.Canary) {
	t.Helper()
	args := []string{"canary", "--json", "--config", p.Path("eval.json")}
	for _, o := range p.Options {
		args = append(args, "--runner-option", o)
	}
	r := p.BerthDo(append(args, more...)...)
	r.Expect(t, status)
	if err := json.Unmarshal([]byte(r.Stdout), &found); err != nil {
		t.Fatalf("%v in %s", err, r.Stdout)
	}
	return found
}
