package desktop

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-run/berth/internal/e2e/rig"
	"github.com/berth-run/berth/internal/testrig"
)

// TestVariants runs three variants in each of two shards: every one comes to the same, wherever it runs.
func TestVariants(t *testing.T) {
	cases := append(rig.SayCases(rig.IdsOn(0, 2, 1)...), rig.SayCases(rig.IdsOn(1, 2, 1)...)...)
	p := newChatGPT(t, testrig.Suites[0], cases, threeVariants)
	runVariants(t, p)
	p.NothingLeft()
}

// TestVariantsOnContainerd is TestVariants on a rootless containerd of its own, and TestCanary there too.
func TestVariantsOnContainerd(t *testing.T) {
	testrig.NeedRootless(t)
	if err := rig.WithoutImage(); err != nil {
		t.Fatal(err)
	}
	b := testrig.ContainerdRootless(t)
	bin := filepath.Dir(rig.Prepared.Berth)
	files := map[string]string{"etc/chatgpt-standin/scenario.json": changedLabels, "etc/chatgpt-standin/all.json": allScreensOnce,
		limitsFile: limitsJSON(inVain)}
	ref, err := testrig.DesktopImage(t.Context(), b, testrig.Suites[0],
		filepath.Join(bin, "berth-worker-linux-"+rig.Arch), filepath.Join(bin, "chatgpt-standin.deb"), files)
	if err != nil {
		t.Fatal(err)
	}
	cases := append(rig.SayCases(rig.IdsOn(0, 2, 1)...), rig.SayCases(rig.IdsOn(1, 2, 1)...)...)
	p := rig.Prepared.Project(t, cases, func(eval rig.Object) { eval["client"] = "chatgpt" }, threeVariants, inAllScreens)
	p.UseImage(ref)
	if rig.Prepared.Limits { // that's Podman
		p.Options = append(p.Options, "limits=best-effort")
	}
	runVariants(t, p, "--runner", "containerd")
	missesTwo(t, canary(t, p, 1, "--runner", "containerd"))
	if left, err := b.List(context.WithoutCancel(t.Context()), nil); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// allScreensOnce is what the stand-in shows in a fresh profile.
const allScreensOnce = `{"screens": [{"kind": "profession", "stale": true}, {"kind": "examples"}, {"kind": "confirm"}, {"kind": "announcement"}]}`

// inAllScreens has every variant's app show them.
func inAllScreens(eval rig.Object) {
	for _, v := range eval["variants"].([]rig.Object) {
		options, _ := v["clientOptions"].(rig.Object)
		if options == nil {
			options = rig.Object{}
		}
		options["env"] = rig.Object{"CHATGPT_STANDIN_SCENARIO": "/etc/chatgpt-standin/all.json"}
		v["clientOptions"] = options
	}
}

// threeVariants are on both surfaces, and one whose answers are wrong.
func threeVariants(eval rig.Object) {
	eval["variants"] = []rig.Object{
		{"name": "work"},
		{"name": "codex", "model": rig.CodeMode, "clientOptions": rig.Object{"surface": "codex"}},
		{"name": "wrong", "inputTemplate": "{{input}}, wrongly"},
	}
}

func runVariants(t *testing.T, p *rig.Project, args ...string) {
	t.Helper()
	p.Options = append(p.Options, "shards=2")
	g := p.NewGate(`{"models": ["gpt-5.5", "gpt-6-luna"], "rules": [
	  {"match": {"contains": "wrongly"}, "steps": [{"text": "no"}]}, {"steps": [{"text": "{{prompt}}"}]}]}`)
	r := p.Run(args...)
	r.Expect(t, 1)
	want, shards := map[string]string{}, map[string]int{}
	for shard := range 2 {
		for _, id := range rig.IdsOn(shard, 2, 1) {
			want["work/"+id], want["codex/"+id], want["wrong/"+id] = "passed", "passed", "failed"
			shards[id] = shard
		}
	}
	if got := r.Outcomes(t); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for key := range r.AllTrials(t) {
		if where := fmt.Sprintf("shard %d/2: %s %s #0", shards[key.CaseID]+1, key.Variant, key.CaseID); !strings.Contains(r.Stderr, where) {
			t.Errorf("no word of %q in:\n%s", where, r.Stderr)
		}
	}
	sentOnce(p, g, r)
}
