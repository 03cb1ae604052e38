package eval

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/berth-run/berth/internal/plan"
	"github.com/berth-run/berth/internal/results"
	"github.com/berth-run/berth/internal/shardtest"
	"github.com/berth-run/berth/session/client"
)

// TestTrialRecords: a trial's record has the shard that it ran in, and what the end of its batch came to,
// which is known only long after the trial is.
func TestTrialRecords(t *testing.T) {
	for want, closing := range map[string]error{client.Completed: nil, client.Failed: errors.New("the app doesn't stop")} {
		t.Run(want, func(t *testing.T) {
			r := newRig(t, shardtest.Options{}, "shards=3")
			r.engine.App.Closing = func() error { return closing }
			r.engine.App.Run = func(_ context.Context, _ client.Batch, tr client.Trial) client.Result {
				res := shardtest.Answer(tr.Prompt)
				switch tr.CaseID {
				case "a":
					res.Telemetry = map[string]any{"batchLifecycle": map[string]any{"cleanupStatus": client.NotStarted, "cleanupDurationMs": 0, "id": "x"}}
				case "b": // the client's own word
					res.Telemetry = map[string]any{"batchLifecycle": map[string]any{"cleanupStatus": "its own", "cleanupDurationMs": 7}}
				}
				return res
			}
			saved := files(t, r.run(t).Dir)
			for _, v := range []string{"one", "two"} {
				for c, status := range map[string]any{"a": want, "b": "its own", "c": nil} {
					tr := decode[results.Trial](t, saved[fmt.Sprintf("traces/%s/%s/0.json", v, c)])
					if tr.Shard == nil || *tr.Shard != plan.ShardOf(c, 3) {
						t.Errorf("%s %s: shard %v, want %d", v, c, tr.Shard, plan.ShardOf(c, 3))
					}
					life, _ := tr.ClientTelemetry["batchLifecycle"].(map[string]any)
					if life["cleanupStatus"] != status || c == "b" && life["cleanupDurationMs"] != 7.0 || c == "a" && life["id"] != "x" {
						t.Errorf("%s %s: %v, want %v", v, c, life, status)
					}
					if tr.Trace == nil || tr.Trace.FinalText == "" {
						t.Errorf("%s %s: trace %+v", v, c, tr.Trace)
					}
				}
			}
			r.left(t)
		})
	}
}
