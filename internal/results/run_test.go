package results

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/shardproto"
	"github.com/berth-run/berth/internal/trace"
	"github.com/berth-run/berth/session/client"
)

func TestWholeRun(t *testing.T) {
	e := sampleEval(t, true)
	dir := t.TempDir()
	r := newRun(t, e, dir, start)
	f := finish(t, r, e, collect(t, r, e, allAnswered), true)

	type row struct {
		Case, Outcome string
		Rate          float64
	}
	var got []row
	for _, c := range f.Cases {
		got = append(got, row{c.Variant + "/" + c.ID, c.Outcome, c.PassRate})
	}
	want := []row{
		{"plain/sum", "passed", 1}, {"plain/tool", "failed", 0}, {"plain/free", "passed", 1},
		{"with/tools/sum", "passed", 1}, {"with/tools/tool", "passed", 1}, {"with/tools/free", "passed", 1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("cases (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(Metrics{Total: 6, Passed: 5, Failed: 1, PassRate: 5.0 / 6}, f.Summary.Metrics); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(TrialCounts{Expected: 12, Passed: 10, Failed: 2, PassRate: 10.0 / 12}, f.Summary.Trials); diff != "" {
		t.Error(diff)
	}
	// 6 trials at 1000*2 + 100*10 + 10*0.5 per million.
	cost := 6 * 3005 / 1e6
	tools := f.Summary.Variants[1].Telemetry
	if tools.CostUSD == nil || *tools.CostUSD < cost-1e-9 || *tools.CostUSD > cost+1e-9 || tools.CostSource != CostFromConfig {
		t.Errorf("cost %v from %q, want %v", tools.CostUSD, tools.CostSource, cost)
	}
	if tools.MCPCalls != 6 || tools.InputTokens != 6000 || tools.DurationMs != 6000 {
		t.Errorf("telemetry %+v", tools)
	}
	d := f.Summary.VariantDeltas
	if len(d) != 1 || d[0].Variant != "with/tools" || d[0].Paired.Better != 1 || d[0].Paired.Same != 2 || d[0].Paired.Verdict != VerdictUnclear || d[0].MCPCalls != 6 {
		t.Errorf("deltas %+v", d)
	}
	if f.Record.Phases != (Phases{Complete, Complete}) || f.Record.Expected != 12 || f.Summary.DurationMs != 60_000 {
		t.Errorf("record %+v", f.Record)
	}
}

// Answers and secrets are in no file of a redacted run; answers are there when the run isn't.
func TestStoredText(t *testing.T) {
	for _, redact := range []bool{true, false} {
		e := sampleEval(t, redact)
		dir := t.TempDir()
		r := newRun(t, e, dir, start)
		f := finish(t, r, e, collect(t, r, e, allAnswered), true)
		text := everything(t, dir)
		if strings.Contains(text, secretAnswer) == redact {
			t.Errorf("redact %v: the answer is stored: %v", redact, !redact)
		}
		for _, planted := range []string{"PLANTED-ARG", "PLANTED-EQ", "PLANTED-ENV", "PLANTED-OPTION"} {
			if strings.Contains(text, planted) {
				t.Errorf("redact %v: %s is stored", redact, planted)
			}
		}
		for _, tr := range f.Trials {
			if (tr.Trace.FinalText == "") != redact {
				t.Errorf("redact %v: the report is handed the answer %q", redact, tr.Trace.FinalText)
			}
		}
	}
}

func everything(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if strings.Contains(filepath.Base(p), ".tmp-") {
			t.Errorf("%s was left behind", p)
		}
		data, err := os.ReadFile(p)
		b.Write(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestOutcomesStayApart(t *testing.T) {
	e := sampleEval(t, false)
	r := newRun(t, e, t.TempDir(), start)
	trials := collect(t, r, e, func(k shardproto.Key) *client.Result {
		res := answered(k)
		switch {
		case k.Variant != "plain":
		case k.CaseID == "sum" && k.Trial == 1:
			return nil
		case k.CaseID == "tool":
			res = client.Result{Infrastructure: true, FailureCode: code.OOMKilled, Error: "oom_killed: the shard hit its memory limit"}
		case k.CaseID == "free" && k.Trial == 0:
			res = client.Result{FailureCode: code.Timeout, Submitted: true, Trace: &trace.Trace{Evidence: trace.EvidenceNone, Events: []trace.Event{}}}
		}
		return &res
	})
	f := finish(t, r, e, trials, true)
	plain := f.Summary.Variants[0]
	if diff := cmp.Diff(Metrics{Total: 3, Passed: 1, Incomplete: 2, PassRate: 1}, plain.Metrics); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(TrialCounts{Expected: 6, Passed: 2, Failed: 1, Infra: 2, Missing: 1, PassRate: 2.0 / 3}, plain.Trials); diff != "" {
		t.Errorf("trials (-want +got):\n%s", diff)
	}
	if f.Record.Phases.Collect != Partial {
		t.Errorf("phases %+v", f.Record.Phases)
	}
	if free := f.Cases[2].TrialResults[0]; free.FailureCode != "timeout" || free.Error != "timeout" || free.Outcome != "failed" {
		t.Errorf("a timeout is %+v", free)
	}
	if plain.Telemetry.CostUSD != nil {
		t.Errorf("a cost of %v, though one trial's is unknown", *plain.Telemetry.CostUSD)
	}
}

func TestNothingCameBack(t *testing.T) {
	e := sampleEval(t, false)
	r := newRun(t, e, t.TempDir(), start)
	f := finish(t, r, e, collect(t, r, e, func(shardproto.Key) *client.Result { return nil }), true)
	if f.Record.Phases.Collect != PhaseFailed || f.Summary.Metrics.Incomplete != 6 {
		t.Errorf("%+v, %+v", f.Record.Phases, f.Summary.Metrics)
	}
}

func TestLatest(t *testing.T) {
	e := sampleEval(t, false)
	dir := t.TempDir()
	publish := func(r *Run) bool {
		t.Helper()
		ok, err := r.PublishLatest()
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	if _, err := ReadLatest(dir); !errors.Is(err, ErrNoRun) {
		t.Errorf("no run yet: %v", err)
	}
	first := newRun(t, e, dir, start)
	if publish(first) {
		t.Error("a run that isn't finished became the latest")
	}
	finish(t, first, e, collect(t, first, e, allAnswered), true)
	if !publish(first) {
		t.Error("a complete run didn't become the latest")
	}
	half := newRun(t, e, dir, start.Add(time.Hour))
	finish(t, half, e, collect(t, half, e, func(k shardproto.Key) *client.Result {
		if k.Trial == 1 {
			return nil
		}
		return allAnswered(k)
	}), true)
	ungraded := newRun(t, e, dir, start.Add(2*time.Hour))
	if f := finish(t, ungraded, e, collect(t, ungraded, e, allAnswered), false); f.Summary.Metrics.Ungraded != 6 || f.Record.Phases.Grade != Skipped {
		t.Errorf("ungraded: %+v, %+v", f.Summary.Metrics, f.Record.Phases)
	}
	part := *e
	part.Selection.MaxCases = 3
	selected := newRun(t, &part, dir, start.Add(3*time.Hour))
	finish(t, selected, &part, collect(t, selected, &part, allAnswered), true)
	older := newRun(t, e, dir, start.Add(-time.Hour))
	finish(t, older, e, collect(t, older, e, allAnswered), true)
	for name, r := range map[string]*Run{"half": half, "ungraded": ungraded, "selected": selected, "older": older} {
		if publish(r) {
			t.Errorf("the %s run became the latest", name)
		}
	}
	if r, err := Open(dir, "latest"); err != nil || r.Record().RunID != selected.Record().RunID {
		t.Errorf("the run to resume is %+v, %v; want the newest, %s", r, err, selected.Record().RunID)
	}
	if l, err := ReadLatest(dir); err != nil || l.RunID != first.Record().RunID || l.Path != "runs/"+l.RunID {
		t.Errorf("latest %+v, %v", l, err)
	}
}

func TestPreviousRun(t *testing.T) {
	e := sampleEval(t, false)
	dir := t.TempDir()
	first := newRun(t, e, dir, start)
	f := finish(t, first, e, collect(t, first, e, allAnswered), true)
	if f.Summary.PreviousRun != nil {
		t.Errorf("a first run has a previous one: %+v", f.Summary.PreviousRun)
	}
	if _, err := first.PublishLatest(); err != nil {
		t.Fatal(err)
	}
	lost := newRun(t, e, dir, start.Add(time.Minute))
	f = finish(t, lost, e, collect(t, lost, e, func(shardproto.Key) *client.Result { return nil }), true)
	if f.Summary.PreviousRun != nil {
		t.Errorf("a run in which nothing was graded is compared: %+v", f.Summary.PreviousRun)
	}
	part := *e
	part.Selection.MaxCases = 3
	selected := newRun(t, &part, dir, start.Add(2*time.Minute))
	f = finish(t, selected, &part, collect(t, selected, &part, allAnswered), true)
	if !f.Summary.Partial || f.Summary.PreviousRun != nil {
		t.Errorf("a selection is compared: %+v", f.Summary.PreviousRun)
	}
	second := newRun(t, e, dir, start.Add(time.Hour))
	f = finish(t, second, e, collect(t, second, e, func(k shardproto.Key) *client.Result {
		res := answered(k)
		if k.CaseID == "sum" {
			res.Trace.FinalText = "no idea"
		}
		return &res
	}), true)
	p := f.Summary.PreviousRun
	if p == nil || p.RunID != first.Record().RunID || !p.SameContent || !p.SameRunner || len(p.Variants) != 2 {
		t.Fatalf("previous %+v", p)
	}
	if got, want := p.PassRateDelta, 3.0/6-5.0/6; got < want-1e-9 || got > want+1e-9 {
		t.Errorf("change %v, want %v", got, want)
	}
}

// A latest.json that names a selection, or a run of which nothing was graded, gives no comparison.
func TestPreviousRunHasNoRate(t *testing.T) {
	for name, change := range map[string]func(*Summary){
		"selection":      func(s *Summary) { s.Partial = true },
		"nothing graded": func(s *Summary) { s.Metrics = Metrics{Total: 6, Incomplete: 6} },
		"neither":        func(*Summary) {},
	} {
		e := sampleEval(t, false)
		dir := t.TempDir()
		first := newRun(t, e, dir, start)
		s := finish(t, first, e, collect(t, first, e, allAnswered), true).Summary
		if _, err := first.PublishLatest(); err != nil {
			t.Fatal(err)
		}
		change(&s)
		if err := writeJSON(filepath.Join(first.Dir, "summary.json"), s); err != nil {
			t.Fatal(err)
		}
		next := newRun(t, e, dir, start.Add(time.Hour))
		p := finish(t, next, e, collect(t, next, e, allAnswered), true).Summary.PreviousRun
		if (p != nil) != (name == "neither") {
			t.Errorf("%s: compared with %+v", name, p)
		}
	}
}

func TestOpenAndResume(t *testing.T) {
	e := sampleEval(t, false)
	dir := t.TempDir()
	r := newRun(t, e, dir, start)
	saved := collect(t, r, e, func(k shardproto.Key) *client.Result {
		res := answered(k)
		switch k.Trial {
		case 1:
			if k.CaseID == "sum" {
				return nil
			}
			res = client.Result{Infrastructure: true, FailureCode: code.ShardLost, Error: "shard_lost: gone"}
		}
		return &res
	})
	id := r.Record().RunID
	for _, name := range []string{id, id[len(id)-6:], r.Dir, "latest"} {
		again, err := Open(dir, name)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all, err := again.Trials()
		if diff := cmp.Diff(len(saved), len(all)); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
		kept, err := again.Resume(e)
		if err != nil {
			t.Fatal(err)
		}
		for k := range kept {
			if k.Trial != 0 {
				t.Errorf("%v needn't be collected again?", k)
			}
		}
		if len(kept) != 6 || kept[shardproto.Key{Variant: "with/tools", CaseID: "sum"}].Trace.FinalText != secretAnswer {
			t.Errorf("kept %d trials", len(kept))
		}
	}
	changed := *e
	changed.ContentHash = "other"
	if _, err := r.Resume(&changed); !errors.Is(err, ErrChanged) {
		t.Errorf("changed: %v", err)
	}
	less := *e
	less.Selection.MaxCases = 1
	if _, err := r.Resume(&less); !errors.Is(err, ErrChanged) || !strings.Contains(err.Error(), "it ran everything") {
		t.Errorf("another selection: %v", err)
	}
	for _, name := range []string{"ffffff", filepath.Join(dir, "nope")} {
		if _, err := Open(dir, name); !errors.Is(err, ErrNoRun) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"latest", "ffffff"} {
		if _, err := Open(t.TempDir(), name); !errors.Is(err, ErrNoRun) || !strings.HasSuffix(err.Error(), "/runs has none yet; start one without --resume") {
			t.Errorf("%s of none: %v", name, err)
		}
	}
	hidden := sampleEval(t, true)
	if _, err := newRun(t, hidden, t.TempDir(), start).Resume(hidden); !errors.Is(err, ErrRedacted) {
		t.Errorf("redacted: %v", err)
	}
}

func TestSameRunTwice(t *testing.T) {
	e := sampleEval(t, false)
	dir := t.TempDir()
	r := newRun(t, e, dir, start)
	if _, err := Create(dir, r.Record()); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a run was created over another: %v", err)
	}
}

func TestNotOurFile(t *testing.T) {
	e := sampleEval(t, false)
	r := newRun(t, e, t.TempDir(), start)
	for _, text := range []string{"", "{", `{"format": "mst.run/v2", "kind": "run"}`, `{"format": "mst.run/v1", "kind": "trial"}`} {
		if err := os.WriteFile(filepath.Join(r.Dir, "run.json"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(r.EvalDir, r.Dir); !errors.Is(err, ErrFormat) {
			t.Errorf("%q: %v", text, err)
		}
	}
	// A latest.json that can't be read doesn't fail a new run.
	if err := os.WriteFile(filepath.Join(r.EvalDir, "latest.json"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	next := newRun(t, e, r.EvalDir, start.Add(time.Hour))
	finish(t, next, e, collect(t, next, e, allAnswered), true)
}

// Fields of a later version are no error.
func TestUnknownFields(t *testing.T) {
	e := sampleEval(t, false)
	r := newRun(t, e, t.TempDir(), start)
	path := filepath.Join(r.Dir, "run.json")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data = append([]byte(`{"fromTheFuture": {"a": 1},`), data[1:]...)
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(r.EvalDir, r.Dir); err != nil {
		t.Error(err)
	}
}

func TestSignTest(t *testing.T) {
	for _, tc := range []struct {
		better, worse int
		p             float64
		verdict       string
	}{
		{0, 0, 1, VerdictUnclear}, {1, 0, 1, VerdictUnclear}, {5, 0, 0.0625, VerdictUnclear},
		{6, 0, 0.03125, VerdictBetter}, {0, 6, 0.03125, VerdictWorse}, {9, 1, 0.021484375, VerdictBetter}, {5, 5, 1, VerdictUnclear},
	} {
		var v, b []CaseResult
		for i := range tc.better + tc.worse {
			id := string(rune('a' + i))
			one, two := CaseResult{ID: id, Graded: 1, PassRate: 1}, CaseResult{ID: id, Graded: 1}
			if i >= tc.better {
				one.PassRate, two.PassRate = 0, 1
			}
			v, b = append(v, one), append(b, two)
		}
		got := paired(v, b)
		if got.Verdict != tc.verdict || got.PValue < tc.p-1e-9 || got.PValue > tc.p+1e-9 {
			t.Errorf("%d better, %d worse: %+v, want p %v, %s", tc.better, tc.worse, got, tc.p, tc.verdict)
		}
	}
}
