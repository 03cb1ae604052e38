package report

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-run/berth/internal/results"
)

func TestTable(t *testing.T) {
	f := sample(t, false)
	f.Dir = ".mcp-test-results/runbook-search/runs/20261007T182504Z-7f3c2a"
	var b strings.Builder
	if err := Table(&b, f); err != nil {
		t.Fatal(err)
	}
	want := `runbook-search: incomplete after 3 m 05 s; of 16 trials, 1 missing, 1 lost to infrastructure (--resume collects them)
8/14 passed (57.1%); 2 cases left out as incomplete

Variant    Passed  Trial pass  MCP calls  Input tokens  Output tokens   Cost      Time
plain         1/7       14.3%          0         8,123            912      –  1 m 04 s
with-wiki     7/7        100%          9     1,020,123          2,044  $0.03  2 m 01 s

failed: plain/rb-001: the answer doesn't contain "RB-17"
failed: plain/rb-002: the answer doesn't contain "RB-17"
failed: plain/rb-003: the answer doesn't contain "RB-17"
failed: plain/rb-004: the answer doesn't contain "RB-17"
failed: plain/rb-005: timeout: no answer within 300 s
failed: plain/rb-007: the answer doesn't contain "RB-17"
lost: plain/rb-006 #0: oom_killed: the shard hit its memory limit

with-wiki against plain: better (6 better, 0 worse, 1 the same; p = 0.03), +85.7 points
Not comparable with 20261006T090000Z-aaaaaa: the config or the cases have changed since
Results: .mcp-test-results/runbook-search/runs/20261007T182504Z-7f3c2a
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTableOfAWholeRun(t *testing.T) {
	f := sample(t, true)
	f.Record.Phases.Collect = results.Complete
	f.Summary.ConfigName = "e\x1b[31mvil\n\u2066x"
	f.Summary.Trials = results.TrialCounts{Expected: 2, Passed: 2, PassRate: 1}
	f.Summary.Metrics = results.Metrics{Total: 2, Passed: 2, PassRate: 1}
	f.Summary.VariantDeltas, f.Summary.PreviousRun, f.Cases = nil, nil, nil
	var b strings.Builder
	if err := Table(&b, f); err != nil {
		t.Fatal(err)
	}
	if want := "e\ufffd[31mvil\ufffd\ufffdx: complete in 3 m 05 s\n2/2 passed (100%)\n"; !strings.HasPrefix(b.String(), want) {
		t.Errorf("got %q, want %q…", b.String(), want)
	}
}

func table(t *testing.T, f *results.Finished) string {
	t.Helper()
	var b strings.Builder
	if err := Table(&b, f); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTableOfARedactedRun(t *testing.T) {
	got := table(t, sample(t, true))
	if strings.Contains(got, "--resume") || !strings.Contains(got, "1 lost to infrastructure (the run can't be resumed: redactStoredResponses is true)\n") {
		t.Errorf("a redacted run that isn't whole:\n%s", got)
	}
}

func TestTableWithNothingGraded(t *testing.T) {
	f := sample(t, false)
	f.Summary.Metrics = results.Metrics{Total: 16, Incomplete: 16}
	f.Summary.Variants[0].Metrics = results.Metrics{Total: 8, Incomplete: 8}
	got := table(t, f)
	if !strings.Contains(got, "\nnothing graded; 16 cases left out as incomplete\n") || strings.Contains(got, " 0/0 ") {
		t.Errorf("got:\n%s", got)
	}
	_, page, _ := render(t, f)
	if strings.Contains(page, " 0/0 ") {
		t.Error("the page says 0/0")
	}
}

// The table names so many failures and counts the rest.
func TestTableNamesSomeFailures(t *testing.T) {
	f := sample(t, false)
	f.Cases = nil
	for i := range 12 {
		f.Cases = append(f.Cases,
			results.CaseResult{Variant: "v", ID: fmt.Sprint("f", i), Outcome: "failed", TrialResults: []results.TrialResult{
				{Outcome: "passed", Assertions: map[string]results.ScoreBody{"regex": {Pass: true, Message: "not this"}}},
				{Trial: 1, Outcome: "failed", Assertions: map[string]results.ScoreBody{"toolCallCount": {Message: "not this"}, "containsText": {Message: "no\n\x1b[31m" + strings.Repeat("é", 300)}}}}},
			results.CaseResult{Variant: "v", ID: fmt.Sprint("l", i), Outcome: "missing", TrialResults: []results.TrialResult{
				{Outcome: "infra", FailureCode: "shard_lost", Error: "gone"}}})
	}
	got := table(t, f)
	for text, want := range map[string]int{
		"\nfailed: v/f0: no \ufffd[31mé": 1, "\nfailed: ": 10, "\n… and 2 more\n": 1,
		"\nlost: v/l0 #0: shard_lost: gone\n": 1, "\nlost: ": 5, "\n… and 7 more\n": 1, "not this": 0, "é…\n": 10,
	} {
		if n := strings.Count(got, text); n != want {
			t.Errorf("%q is there %d times, want %d:\n%s", text, n, want, got)
		}
	}
}

func TestSince(t *testing.T) {
	for _, tc := range []struct {
		p    results.PreviousRun
		want string
	}{
		{results.PreviousRun{RunID: "r", SameContent: true, SameRunner: true, PassRate: 0.5, PassRateDelta: 0.25}, "Since r: +25 points (50% then)"},
		{results.PreviousRun{RunID: "r", SameContent: true, PassRate: 0.5}, "Since r: ±0 points (50% then); it ran elsewhere then"},
		{results.PreviousRun{RunID: "r", SameRunner: true, PassRate: 0.5, PassRateDelta: 0.25}, "Not comparable with r: the config or the cases have changed since"},
	} {
		if got := since(&tc.p); got != tc.want {
			t.Errorf("got %q, want %q", got, tc.want)
		}
	}
}

type brokenPipe struct{}

var errPipe = errors.New("broken pipe")

func (brokenPipe) Write([]byte) (int, error) { return 0, errPipe }

func TestTableWriteFails(t *testing.T) {
	if err := Table(brokenPipe{}, sample(t, true)); !errors.Is(err, errPipe) {
		t.Errorf("got %v", err)
	}
}

func TestExitCode(t *testing.T) {
	for name, tc := range map[string]struct {
		s    results.Summary
		want int
	}{
		"all passed":                {results.Summary{Metrics: results.Metrics{Passed: 2}, Trials: results.TrialCounts{Passed: 2}}, 0},
		"one failed":                {results.Summary{Metrics: results.Metrics{Passed: 1, Failed: 1}}, 1},
		"failed trial, passed case": {results.Summary{Metrics: results.Metrics{Passed: 1}, Trials: results.TrialCounts{Passed: 2, Failed: 1}}, 0},
		"missing":                   {results.Summary{Metrics: results.Metrics{Passed: 1, Incomplete: 1}, Trials: results.TrialCounts{Missing: 1}}, 4},
		"infra":                     {results.Summary{Metrics: results.Metrics{Passed: 1}, Trials: results.TrialCounts{Infra: 1}}, 4},
		"nothing came back":         {results.Summary{Trials: results.TrialCounts{Missing: 9}}, 4},
		"failed and missing":        {results.Summary{Metrics: results.Metrics{Failed: 1}, Trials: results.TrialCounts{Missing: 1}}, 1},
		"not graded":                {results.Summary{Metrics: results.Metrics{Ungraded: 3}, Trials: results.TrialCounts{Ungraded: 3}}, 0},
	} {
		if got := ExitCode(&tc.s); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}

func TestFormats(t *testing.T) {
	small, none, more := 0.0034, 0.0, 12.345
	for _, tc := range []struct{ got, want string }{
		{percent(0), "0%"}, {percent(1), "100%"}, {percent(2.0 / 3), "66.7%"}, {percent(0.9999), "100%"},
		{points(0), "±0"}, {points(0.5), "+50"}, {points(-1.0 / 3), "-33.3"},
		{count(0), "0"}, {count(999), "999"}, {count(1000), "1,000"}, {count(-1234567), "-1,234,567"},
		{cost(nil), "–"}, {cost(&small), "$0.0034"}, {cost(&none), "$0.00"}, {cost(&more), "$12.35"},
		{duration(0), "0 ms"}, {duration(850), "850 ms"}, {duration(4200), "4.2 s"}, {duration(185_000), "3 m 05 s"}, {duration(7_800_000), "2 h 10 m"},
		{plural(1, "case"), "1 case"}, {plural(0, "case"), "0 cases"}, {plural(1200, "byte"), "1,200 bytes"},
		{shorten("abc", 3), "abc"}, {shorten("aé", 2), "a… (1 byte more)"},
	} {
		if tc.got != tc.want {
			t.Errorf("got %q, want %q", tc.got, tc.want)
		}
	}
}
