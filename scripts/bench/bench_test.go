package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-run/berth/internal/results"
)

func TestMedianAndSpread(t *testing.T) {
	tests := []struct {
		in     sample
		median float64
		spread string
	}{
		{nil, 0, "–"},
		{sample{7}, 7, "7.00 (7.00 to 7.00)"},
		{sample{3, 1, 200}, 3, "3.00 (1.00 to 200)"},
		{sample{4, 1, 30, 2}, 3, "3.00 (1.00 to 30.0)"},
	}
	for _, tt := range tests {
		before := append(sample(nil), tt.in...)
		if got := tt.in.median(); got != tt.median {
			t.Errorf("median of %v is %v, want %v", tt.in, got, tt.median)
		}
		if got := tt.in.spread(); got != tt.spread {
			t.Errorf("spread of %v is %q, want %q", tt.in, got, tt.spread)
		}
		if diff := cmp.Diff(before, tt.in); diff != "" {
			t.Errorf("the sample was reordered:\n%s", diff)
		}
	}
}

func TestRatioDividesMedians(t *testing.T) {
	if got := ratio(sample{1, 2, 900}, sample{8, 1, 900}); got != 0.25 {
		t.Errorf("got %v, want 2/8", got)
	}
}

func TestAlternate(t *testing.T) {
	var order string
	do := func(name string, took time.Duration) way {
		return way{name, func(context.Context) (time.Duration, error) {
			order += name
			return took * time.Duration(len(order)), nil // later turns take longer
		}}
	}
	got, err := rounds{warmup: 1, counted: 2}.alternate(t.Context(), do("a", time.Millisecond), do("b", 10*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	if want := "ab" + "ba" + "ab"; order != want {
		t.Errorf("turns %q, want %q", order, want)
	}
	if diff := cmp.Diff([]sample{{4, 5}, {30, 60}}, got); diff != "" {
		t.Errorf("samples without the warm-up (-want +got)\n%s", diff)
	}
}

func TestAlternateStopsAtAFailure(t *testing.T) {
	broken := errors.New("broken")
	_, err := rounds{counted: 3}.alternate(t.Context(), way{"put", func(context.Context) (time.Duration, error) { return 0, broken }})
	if !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "put: ") {
		t.Errorf("got %v, want one that names the way", err)
	}
}

func TestTable(t *testing.T) {
	tab := table{head: []string{"", "ms"}}
	tab.add("grün", "1")
	tab.add("b", "1234")
	var b strings.Builder
	tab.print(&b)
	printRatios(&b, verdict{"put/podman-cp", 0.98765})
	want := "|      | ms   |\n| ---- | ---- |\n| grün | 1    |\n| b    | 1234 |\n\nRATIO put/podman-cp 0.9877\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestBillAddsUp: whatever a step is counted as, nothing of a run's time is lost or counted twice.
func TestBillAddsUp(t *testing.T) {
	b := newBill(1000, map[string]float64{"create": 50, "collect": 800, "fetch": 20, "save": 10, "evidence": 5, "remove": 30})
	b.add(&results.Trial{DurationMs: 300, Steps: map[string]float64{"spawn": 5, "initialize": 90, "turn": 150, "codex_turn": 130, "stop": 40}})
	b.add(&results.Trial{DurationMs: 200, Steps: map[string]float64{"thread_start": 80, "turn": 100, "codex_turn": 100}})

	want := bill{trials: 2, whole: 1000,
		codex: map[string]float64{"initialize": 90, "thread_start": 80, "mcp_servers": 0, "codex_turn": 230},
		berth: map[string]float64{
			stepRest: 120, "create": 50, "remove": 30, "fetch": 20, "save": 10, "evidence": 5, stepBatches: 265,
			"spawn": 5, "stop": 40, stepRecord: 20, stepBetween: 35,
		}}
	if diff := cmp.Diff(want, b, cmp.AllowUnexported(bill{})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	sum := b.own()
	for _, ms := range b.berth {
		sum += ms
	}
	if sum != b.whole {
		t.Errorf("the parts add up to %v of %v", sum, b.whole)
	}
	if b.overhead() != 300 || b.codexTime() != 200 {
		t.Errorf("overhead %v, Codex %v a trial; want 300 and 200", b.overhead(), b.codexTime())
	}
}

func TestKib(t *testing.T) {
	text := "5581d000-7ffe ---p 00000000 00:00 0    [rollup]\nRss:    1000 kB\nPss:     12 kB\nPss_Anon:   8 kB\n"
	if all, anon, none := kib(text, "Pss:"), kib(text, "Pss_Anon:"), kib(text, "Swap:"); all != 12<<10 || anon != 8<<10 || none != 0 {
		t.Errorf("got %d, %d, %d", all, anon, none)
	}
}
