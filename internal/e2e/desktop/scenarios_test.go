package desktop

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/codetest"
	"github.com/berth-run/berth/internal/e2e/rig"
	"github.com/berth-run/berth/internal/results"
	"github.com/berth-run/berth/internal/shardproto"
	"github.com/berth-run/berth/internal/testrig"
	"github.com/berth-run/berth/session/client"
	"github.com/berth-run/berth/session/client/chatgpt"
	"github.com/berth-run/berth/session/client/chatgpt/driver"
	"github.com/berth-run/berth/session/client/rollout"
)

// scenarioShards is over how many shards the scenes are spread: nearly all of their time is waiting.
const scenarioShards = 5

// scenarioPatience bounds the wait for them all.
const scenarioPatience = 15 * time.Minute

// TestScenarios runs every scene in a shard, with the real worker and the real Codex: what the trial comes
// to, where the driver was, what it did, and that the prompt was sent once, or not at all.
func TestScenarios(t *testing.T) {
	rig.TakePlace(t)
	ref := scenesImage(t, desktopImage(t, testrig.Suites[0]))
	var runs []*scenarioRun
	for i := range scenarioShards {
		runs = append(runs, startScenarios(t, ref, i))
	}
	for _, r := range runs {
		r.check(t, r.WaitFor(scenarioPatience))
		r.NothingLeft()
	}
}

// scenarioRun is a shard's part of the scenes, under way.
type scenarioRun struct {
	*rig.Command
	gate *rig.Gate
}

// scenesOn are those of a shard, with the names of their variants.
func scenesOn(shard int) (variants []string) {
	for i := range scenes {
		last := i == len(scenes)-1
		if i%scenarioShards == shard && !last || last && shard == scenarioShards-1 {
			variants = append(variants, variantOf(i))
		}
	}
	return variants
}

// sceneInput begins every prompt, and every variant's name.
const sceneInput = "scene"

func variantOf(scene int) string { return fmt.Sprintf(sceneInput+"-%02d", scene) }

func sceneOf(variant string) *scene {
	var i int
	fmt.Sscanf(variant, sceneInput+"-%d", &i)
	return &scenes[i]
}

// tagSize is the length of what a prompt begins with, as it's in the link: "scene-00: " with a space and a
// colon that are encoded.
const tagSize = len(sceneInput+"-00") + 6

func promptOf(variant string) string {
	return variant + ": " + cmp.Or(sceneOf(variant).prompt, "say hello")
}

// scenarioFolder is where the image has the scenes.
const scenarioFolder = "/etc/chatgpt-standin/"

// patient are the limits of what must come, on a machine that has much else to do.
var patient = chatgpt.LimitsMs{
	Overall: 300_000, FirstUI: 120_000, Screen: 60_000, Open: 60_000, Draft: 60_000, Handoff: 60_000, Settle: 1_000, Observe: 30_000,
}

// within is patient but for what a scene has of its own.
func (s *scene) within() chatgpt.LimitsMs {
	l := patient
	for _, v := range []struct{ is, own *int64 }{
		{&l.FirstUI, &s.limits.FirstUI}, {&l.Screen, &s.limits.Screen}, {&l.Draft, &s.limits.Draft}, {&l.Settle, &s.limits.Settle},
		{&l.Observe, &s.limits.Observe}, {&l.Bind, &s.limits.Bind}, {&l.Stall, &s.limits.Stall}, {&l.Handoff, &s.limits.Handoff},
		{&l.Asks, &s.limits.Asks},
	} {
		if *v.own != 0 {
			*v.is = *v.own
		}
	}
	return l
}

// scenesImage has the scenes' files, the limits for each, and a marketplace with a plugin.
func scenesImage(t *testing.T, ref string) string {
	t.Helper()
	files, limits := map[string]any{}, map[string]chatgpt.LimitsMs{}
	for i := range scenes {
		files[scenarioFolder+variantOf(i)+".json"] = scenes[i].app
		limits[variantOf(i)] = scenes[i].within()
	}
	files[chatgpt.DefaultLimitsFile] = limits
	files[marketplace+"/.agents/plugins/marketplace.json"] = rig.Object{"name": "local", "plugins": []rig.Object{{
		"name": "notes", "source": rig.Object{"source": "local", "path": "./plugins/notes"},
		"policy": rig.Object{"installation": "AVAILABLE", "authentication": "ON_INSTALL"}, "category": "Productivity",
	}}}
	files[marketplace+"/plugins/notes/.codex-plugin/plugin.json"] = rig.Object{"name": "notes", "version": "1.2.3", "description": "none"}
	return damagedImage(t, ref, func(container string) { addFiles(t, container, files) })
}

// addFiles puts JSON files into a container that doesn't run.
func addFiles(t *testing.T, container string, files map[string]any) {
	t.Helper()
	root := t.TempDir()
	for name, v := range files {
		body, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, body, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	rig.PodmanDo(t, "cp", root+"/.", container+":/")
}

// startScenarios starts a shard's part.
func startScenarios(t *testing.T, ref string, shard int) *scenarioRun {
	t.Helper()
	variants := scenesOn(shard)
	p := rig.Prepared.Project(t, []rig.Object{{"id": "case", "input": sceneInput, "assertions": rig.Object{"containsText": "well"}}}, func(eval rig.Object) {
		eval["client"] = "chatgpt"
		var all []rig.Object
		for _, v := range variants {
			options := rig.Object{"env": rig.Object{"CHATGPT_STANDIN_SCENARIO": scenarioFolder + v + ".json"}}
			for k, o := range sceneOf(v).options {
				options[k] = o
			}
			all = append(all, rig.Object{"name": v, "inputTemplate": "{{input}}" + strings.TrimPrefix(promptOf(v), sceneInput), "clientOptions": options})
		}
		eval["variants"] = all
	})
	p.UseImage(ref)
	g := p.NewGate(`{"models": ["gpt-5.5", "gpt-6-luna"], "rules": [
	  {"name": "hang", "match": {"contains": ": hang"}, "faults": [{"stall": "before"}], "steps": [{"text": "never"}]},
	  {"name": "all", "steps": [{"text": "well"}]}]}`)
	return &scenarioRun{Command: p.Start(), gate: g}
}

// check holds every trial of a shard against its scene.
func (r *scenarioRun) check(t *testing.T, res rig.Result) {
	t.Helper()
	outcomes, trials := res.Outcomes(t), res.AllTrials(t)
	for key, trial := range trials {
		s := sceneOf(key.Variant)
		t.Run(strings.ReplaceAll(s.name, " ", "_"), func(t *testing.T) {
			seen := seenOf(t, trial)
			s.want.outcome = cmp.Or(s.want.outcome, "passed")
			if got := outcomes[key.Variant+"/case"]; got != s.outcome {
				t.Errorf("%s: %s, want %s", got, trial.Error, s.outcome)
			}
			s.checkFailure(t, trial, seen)
			s.checkSent(t, r.gate, key, seen)
			if s.outcome == "passed" {
				checkPlugins(t, trial, s.options["plugins"] != nil)
				checkRecorded(t, res.Dir, trial, promptOf(key.Variant))
			}
			if trial.Shard == nil || seen.BatchLifecycle.CleanupStatus != client.Completed {
				t.Errorf("shard %v, clean-up %q", trial.Shard, seen.BatchLifecycle.CleanupStatus)
			}
			codetest.Saw(t, code.Code(trial.FailureCode()))
			codetest.Saw(t, code.Code(trial.FailureKind()))
		})
	}
	if len(trials) != len(outcomes) {
		t.Errorf("%d trials of %d", len(trials), len(outcomes))
	}
}

// seen is what a trial's record tells of the driver.
type seen struct {
	NativeController struct {
		Submission *driver.Receipt `json:"submission"`
	} `json:"nativeController"`
	BatchLifecycle struct {
		NativeSetup   driver.Receipt `json:"nativeSetup"`
		CleanupStatus string         `json:"cleanupStatus"`
	} `json:"batchLifecycle"`
}

func seenOf(t *testing.T, trial *results.Trial) (s seen) {
	t.Helper()
	body, err := json.Marshal(trial.ClientTelemetry)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(body, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *scene) checkFailure(t *testing.T, trial *results.Trial, seen seen) {
	t.Helper()
	kind := code.Code(rig.FailureCode(trial))
	if kind != s.code || !strings.Contains(trial.Error, s.words) {
		t.Errorf("%s: %s, want %q with %q", kind, trial.Error, s.code, s.words)
	}
	prepare, submit := seen.BatchLifecycle.NativeSetup, seen.NativeController.Submission
	if n := prepare.ActionCount; n != s.prepared || len(prepare.Steps) != n {
		t.Errorf("Prepare took %d actions, want %d: %+v", n, s.prepared, prepare.Steps)
	}
	last := prepare
	if submit != nil {
		last = *submit
		if submit.ActionCount != s.done || len(submit.Steps) != submit.ActionCount {
			t.Errorf("Submit took %d actions, want %d: %+v", submit.ActionCount, s.done, submit.Steps)
		}
	} else if s.done != 0 {
		t.Errorf("there was no Submit, want one of %d actions", s.done)
	}
	if status := s.status(submit != nil); last.Status != status {
		t.Errorf("status %q, want %q: %+v", last.Status, status, last)
	}
	if last.Phase != s.phase || last.Step != s.step {
		t.Errorf("phase %q, step %q, want %q and %q: %+v", last.Phase, last.Step, s.phase, s.step, last)
	}
}

// status is the last receipt's: that of the Submit, if it came to one.
func (s *scene) status(submit bool) driver.Status {
	switch {
	case s.phase != "":
		return driver.Failed
	case submit:
		return driver.Submitted
	case s.prepared > 0:
		return driver.Ready
	}
	return "" // the app wasn't started
}

// checkSent counts what became of the prompt: activations of Send, and turns at the gateway.
func (s *scene) checkSent(t *testing.T, g *rig.Gate, key shardproto.Key, seen seen) {
	t.Helper()
	sent := 0
	if r := seen.NativeController.Submission; r != nil {
		for _, a := range r.Steps {
			if a.Step == string(driver.Send) {
				sent++
			}
		}
		if r.Sent != (sent == 1) {
			t.Errorf("the receipt says that it was sent: %v, its steps %+v", r.Sent, r.Steps)
		}
	}
	if sent != s.sent {
		t.Errorf("Send was activated %d times, want %d", sent, s.sent)
	}
	// A request that stood still is in the gateway's log when its end has come through.
	rig.Eventually(func() bool { return turnsOf(g, key.Variant+": ") >= s.turns })
	turns := turnsOf(g, key.Variant+": ")
	if turns != s.turns {
		t.Errorf("the gateway had %d turns of it, want %d", turns, s.turns)
	}
}

// turnsOf counts the turns whose prompt begins with a tag.
func turnsOf(g *rig.Gate, tag string) int {
	turns := map[string]bool{}
	for _, e := range g.Entries() {
		if e.TurnID != "" && strings.HasPrefix(strings.ReplaceAll(e.Prompt, `\`, ""), tag) {
			turns[e.TurnID] = true
		}
	}
	return len(turns)
}

// checkPlugins looks for what was installed in a trial's record.
func checkPlugins(t *testing.T, trial *results.Trial, want bool) {
	t.Helper()
	readiness, _ := trial.ClientMetadata["nativeReadiness"].(map[string]any)
	got, _ := json.Marshal(readiness["plugins"])
	if (string(got) == `[{"marketplace":"local","name":"notes","version":"1.2.3"}]`) != want {
		t.Errorf("plugins %s, want one: %v", got, want)
	}
}

// checkRecorded looks for the prompt in the copy of Codex's record, byte for byte but for what the app is
// allowed to do to it.
func checkRecorded(t *testing.T, dir string, trial *results.Trial, prompt string) {
	t.Helper()
	id, _ := trial.ClientMetadata["session"].(map[string]any)["turnId"].(string)
	correlation, _ := trial.ClientMetadata["correlation"].(map[string]any)
	if marker, ok := correlation["marker"].(string); ok {
		prompt += "\n\n[mst-run: " + marker + "]"
	}
	paths, err := filepath.Glob(filepath.Join(dir, "artifacts/*/*/*/"+client.RecordPrefix+"*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		r := rollout.Open(path, nil)
		if _, err := r.Poll(); err != nil {
			t.Fatal(err)
		}
		for _, recorded := range r.Turns() {
			if recorded.ID != id {
				continue
			}
			match, _ := correlation["nativePromptMatch"].(string)
			if got := rollout.MatchPrompt(prompt, recorded.Prompt, rollout.Match(match)); got == "" || correlation["nativePromptSha256"] != fmt.Sprintf("%x", sha256.Sum256([]byte(recorded.Prompt))) {
				t.Errorf("recorded %.80q…, sent %.80q…: %v", recorded.Prompt, prompt, correlation)
			}
			return
		}
	}
	t.Errorf("no record of turn %q in %v", id, paths)
}
