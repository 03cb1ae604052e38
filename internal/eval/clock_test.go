package eval

import (
	"context"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berth-run/berth/internal/clock/clocktest"
	"github.com/berth-run/berth/internal/redact"
	"github.com/berth-run/berth/internal/report"
	"github.com/berth-run/berth/internal/results"
	"github.com/berth-run/berth/internal/shardtest"
	"github.com/berth-run/berth/session/client"
)

// TestClockSet sets the clock a day ahead, or back, in the middle of a run. Nothing of the run's goes by it, and
// its times are one after the other.
func TestClockSet(t *testing.T) {
	for name, by := range map[string]time.Duration{"ahead": 24 * time.Hour, "back": -24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, shardtest.Options{}, "shards=2")
			var set atomic.Bool
			r.Now = func() time.Time {
				if set.Load() {
					return clocktest.Set(time.Now(), by)
				}
				return time.Now()
			}
			r.engine.App.Run = func(_ context.Context, _ client.Batch, tr client.Trial) client.Result {
				set.Store(true)
				return shardtest.Answer(tr.Prompt)
			}
			first := r.run(t)
			if n := first.Summary.Trials; n.Missing != 0 || n.Infra != 0 || first.ExitStatus() != report.ExitFailed {
				t.Errorf("%+v, exit status %d", n, first.ExitStatus())
			}
			began, err := time.Parse(time.RFC3339, first.Record.CreatedAt)
			if err != nil {
				t.Fatal(err)
			}
			ended, err := time.Parse(time.RFC3339, first.Record.FinishedAt)
			if took := ended.Sub(began); err != nil || took < 0 || took > time.Hour || (took-time.Duration(first.Summary.DurationMs)*time.Millisecond).Abs() > time.Minute {
				t.Errorf("from %s to %s, of %d ms: %v", first.Record.CreatedAt, first.Record.FinishedAt, first.Summary.DurationMs, err)
			}
			r.left(t)

			next := r.run(t)
			if latest, err := results.Open(r.EvalDir, "latest"); err != nil || filepath.Base(latest.Dir) != next.Record.RunID {
				t.Errorf("the run that was started last is %s, the latest %v, %v", next.Record.RunID, latest, err)
			}
		})
	}
}

// TestNowIsSteady: a run's own clock is what its shards' labels are made by.
func TestNowIsSteady(t *testing.T) {
	r := newRig(t, shardtest.Options{})
	start := time.Now()
	now := start
	r.Now = func() time.Time { return now }
	prepared, err := r.prepare(t.Context(), &redact.Set{})
	if err != nil {
		t.Fatal(err)
	}
	defer prepared.way.close()
	now = clocktest.Set(start.Add(time.Minute), -24*time.Hour)
	if got, want := prepared.shards.Labels(0)["run.berth.created"], start.Add(time.Minute).UTC().Format(time.RFC3339); got != want {
		t.Errorf("created at %s, want %s", got, want)
	}
}
