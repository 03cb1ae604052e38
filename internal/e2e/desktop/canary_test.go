package desktop

import (
	"encoding/json"
	"testing"

	"github.com/berth-run/berth/internal/e2e/rig"
	"github.com/berth-run/berth/internal/eval"
	"github.com/berth-run/berth/internal/testrig"
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
	found := canary(t, p, 1)
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
	if len(p.Runs()) > 0 {
		t.Error("it wrote a run")
	}
	p.NothingLeft()
}

// TestCanaryAsKnown: an app that is as it was has nothing to tell.
func TestCanaryAsKnown(t *testing.T) {
	p := newChatGPT(t, testrig.Suites[0], rig.SayCases("one"))
	if found := canary(t, p, 0); !found.Ready || len(found.Lost()) > 0 {
		t.Errorf("%+v", found)
	}
	p.NothingLeft()
}

// canary runs it on the project's config and image.
func canary(t *testing.T, p *rig.Project, status int) (found eval.Canary) {
	t.Helper()
	args := []string{"canary", "--json", "--config", p.Path("eval.json")}
	for _, o := range p.Options {
		args = append(args, "--runner-option", o)
	}
	r := p.BerthDo(args...)
	r.Expect(t, status)
	if err := json.Unmarshal([]byte(r.Stdout), &found); err != nil {
		t.Fatalf("%v in %s", err, r.Stdout)
	}
	return found
}
