package runner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/backends/fake"
	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/codetest"
	"github.com/berth-run/berth/internal/shardproto"
	"github.com/berth-run/berth/internal/shardtest"
	"github.com/berth-run/berth/session/client"
)

// hungry has the trials of these cases hit their shard's limit, which their app survives.
func hungry(e *shardtest.Engine, cases ...string) {
	e.App.Run = func(_ context.Context, b client.Batch, tr client.Trial) client.Result {
		for _, id := range cases {
			if tr.CaseID == id {
				e.OOMKill(e.ShardOf(b))
			}
		}
		return shardtest.Answer(tr.Prompt)
	}
}

// settled checks what was recorded, that each trial was run once, and that nothing is left.
func (r *rig) settled(t *testing.T, want map[string]string) {
	t.Helper()
	if got := r.saved.kinds(); !maps.Equal(got, want) {
		t.Errorf("recorded %v, want %v", got, want)
	}
	ran := map[string]bool{}
	for _, tr := range r.engine.App.Trials() {
		if ran[tr.CaseID] {
			t.Errorf("%s was run twice", tr.CaseID)
		}
		ran[tr.CaseID] = true
	}
	if len(r.saved.twice) != 0 {
		t.Errorf("recorded twice: %v", r.saved.twice)
	}
	for _, res := range r.saved.trials {
		codetest.Saw(t, res.FailureCode)
	}
	r.left(t)
}

// TestLimitHit: the trial is infrastructure's, another shard does the rest, and the shards beside it never
// notice.
func TestLimitHit(t *testing.T) {
	r := newRig(t, shardtest.Options{}, []string{"a", "b", "c"}, []string{"d", "e"})
	hungry(r.engine, "b")
	run, replaced := r.engine.App.Run, make(chan struct{})
	var beside string
	r.engine.App.Run = func(ctx context.Context, b client.Batch, tr client.Trial) client.Result {
		switch tr.CaseID {
		case "c":
			close(replaced)
		case "d":
			beside = r.engine.ShardOf(b)
			<-replaced
		}
		return run(ctx, b, tr)
	}
	out := r.Do(t.Context())
	r.settled(t, map[string]string{"a": "", "b": "oom_killed", "c": "", "d": "", "e": ""})
	if b := r.saved.trials[key("b")]; !b.Infrastructure || !b.Submitted {
		t.Errorf("%+v", b)
	}
	if len(out.Shards) != 3 {
		t.Fatalf("%+v", out.Shards)
	}
	for i, want := range []struct{ index, finished int }{{0, 2}, {0, 1}, {1, 2}} {
		s := out.Shards[i]
		if s.Shard.Index != want.index || s.Finished != want.finished || len(s.Missing) != 0 || (s.Err != nil) != (i == 0) || s.Left != nil {
			t.Errorf("%d: %+v", i, s)
		}
	}
	if code.Of(out.Shards[0].Err) != code.OOMKilled || out.Shards[0].ID == out.Shards[1].ID || out.Shards[2].ID != beside {
		t.Errorf("%+v", out.Shards)
	}
	const want = "shard 1/2: replaced, with 1 of its trials left: oom_killed: its memory limit of 2 GiB was hit; raise it with --runner-option memory="
	if !strings.Contains(r.log.String(), want) || strings.Contains(r.log.String(), "stopped") {
		t.Errorf("progress:\n%s", r.log)
	}
}

// TestLimitHitAgain: each shard settles at least one trial, so there is an end to it.
func TestLimitHitAgain(t *testing.T) {
	r := newRig(t, shardtest.Options{}, []string{"a", "b", "c"})
	hungry(r.engine, "a", "b", "c")
	out := r.Do(t.Context())
	r.settled(t, map[string]string{"a": "oom_killed", "b": "oom_killed", "c": "oom_killed"})
	if len(out.Shards) != 3 || strings.Count(r.log.String(), "replaced") != 2 || strings.Contains(r.log.String(), "stopped") {
		t.Errorf("%d shards; progress:\n%s", len(out.Shards), r.log)
	}
}

// TestLimitKilledShard: PID 1 is gone, and with it what else was in the shard. What was under way isn't run
// again; what hadn't begun another shard does.
func TestLimitKilledShard(t *testing.T) {
	r := newRig(t, shardtest.Options{}, []string{"first", "second", "third"})
	oom := true
	r.Backend = decorated{r.engine, func(s backends.Shard) backends.Shard {
		if oom {
			oom = false
			return oomShard{s}
		}
		return s
	}}
	r.engine.App.Run = func(ctx context.Context, b client.Batch, tr client.Trial) client.Result {
		if tr.CaseID == "second" {
			return killed(ctx, r.engine, b)
		}
		return shardtest.Answer("ok")
	}
	out := r.Do(t.Context())
	r.settled(t, map[string]string{"first": "", "second": "oom_killed", "third": ""})
	const want = "the shard ended: its memory limit of 2 GiB was hit; raise it with --runner-option memory="
	if second := r.saved.trials[key("second")]; !second.Infrastructure || !second.Submitted || second.Error != want {
		t.Errorf("%+v", second)
	}
	if len(out.Shards) != 2 || code.Of(out.Shards[0].Err) != code.OOMKilled || out.Shards[1].Err != nil || len(out.Shards[0].Missing) != 0 {
		t.Errorf("%+v", out.Shards)
	}
}

// TestLimitHitInVain: a shard that dies before it has settled a trial isn't replaced: the next would die alike.
func TestLimitHitInVain(t *testing.T) {
	created := 0
	r := newRig(t, shardtest.Options{Fake: fake.Options{OnCreate: func(backends.Config) error { created++; return nil }}}, []string{"a", "b"})
	r.Backend = decorated{r.engine, func(s backends.Shard) backends.Shard { return oomShard{s} }}
	r.engine.App.Opening = func(ctx context.Context, b client.Batch) error {
		killed(ctx, r.engine, b)
		return ctx.Err()
	}
	out := r.Do(t.Context())
	r.settled(t, map[string]string{})
	if s := out.Shards[0]; created != 1 || code.Of(s.Err) != code.OOMKilled || len(s.Missing) != 2 || s.Missing[0].Reason != s.Err.Error() {
		t.Errorf("%d created: %+v", created, out.Shards)
	}
	if !strings.Contains(r.log.String(), "stopped: oom_killed") {
		t.Errorf("progress:\n%s", r.log)
	}
}

// TestLimitHitAtOpen: an app that doesn't fit costs the trials of its variant and no others.
func TestLimitHitAtOpen(t *testing.T) {
	r := newRig(t, shardtest.Options{}, []string{"a", "b"})
	other := bundle(0, 1, "c").Batches[0]
	other.Variant = "w"
	r.Bundles[0].Batches = append(r.Bundles[0].Batches, other)
	r.engine.App.Opening = func(_ context.Context, b client.Batch) error {
		if b.Variant == "v" {
			r.engine.OOMKill(r.engine.ShardOf(b))
		}
		return nil
	}
	out := r.Do(t.Context())
	r.settled(t, map[string]string{"a": "oom_killed", "b": "oom_killed", "c": ""})
	if n := len(r.engine.App.Trials()); len(out.Shards) != 2 || n != 1 {
		t.Errorf("%d shards, %d trials were run", len(out.Shards), n)
	}
}

// TestLimitHitAtTheEnd: with nothing left to run there is nothing to replace, and nothing more to say.
func TestLimitHitAtTheEnd(t *testing.T) {
	r := newRig(t, shardtest.Options{}, []string{"a", "b"})
	hungry(r.engine, "b")
	out := r.Do(t.Context())
	r.settled(t, map[string]string{"a": "", "b": "oom_killed"})
	if len(out.Shards) != 1 || code.Of(out.Shards[0].Err) != code.OOMKilled {
		t.Errorf("%+v", out.Shards)
	}
	if s := r.log.String(); strings.Contains(s, "stopped") || strings.Contains(s, "replaced") || strings.Count(s, "oom_killed") != 1 {
		t.Errorf("progress:\n%s", s)
	}
}

// TestLimitHitAndKept: the shard that hit its limit stays to be looked at, beside the one in its place.
func TestLimitHitAndKept(t *testing.T) {
	r := newRig(t, shardtest.Options{}, []string{"a", "b"})
	r.Options.Keep = KeepFailed
	hungry(r.engine, "a")
	out := r.Do(t.Context())
	if len(out.Shards) != 2 || !out.Shards[0].Kept || out.Shards[1].Kept || out.Shards[1].Finished != 1 {
		t.Fatalf("%+v", out.Shards)
	}
	sh, err := r.engine.Open(t.Context(), out.Shards[0].ID)
	if err == nil {
		err = sh.Remove(t.Context())
	}
	if err != nil {
		t.Error(err)
	}
	r.settled(t, map[string]string{"a": "oom_killed", "b": ""})
}

// TestLimitHitThenInterrupted: no shard is made any more, and what wasn't run says that it was the user.
func TestLimitHitThenInterrupted(t *testing.T) {
	drain := make(chan struct{})
	created := 0
	r := newRig(t, shardtest.Options{Fake: fake.Options{OnCreate: func(backends.Config) error { created++; return nil }}}, []string{"a", "b"})
	r.Drain = drain
	hungry(r.engine, "a")
	run := r.engine.App.Run
	r.engine.App.Run = func(ctx context.Context, b client.Batch, tr client.Trial) client.Result {
		close(drain)
		return run(context.WithoutCancel(ctx), b, tr)
	}
	out := r.Do(t.Context())
	r.settled(t, map[string]string{"a": "oom_killed"})
	last := out.Shards[len(out.Shards)-1]
	if created != 1 || out.SetupError() != nil || len(last.Missing) != 1 || !strings.Contains(last.Missing[0].Reason, "interrupted") {
		t.Errorf("%d created: %+v", created, out.Shards)
	}
}

// TestLimitHitUnrecorded: what was under way when the shard died, and couldn't be recorded, isn't run again.
func TestLimitHitUnrecorded(t *testing.T) {
	r := newRig(t, shardtest.Options{}, []string{"a", "b", "c"})
	r.Backend = decorated{r.engine, func(s backends.Shard) backends.Shard { return oomShard{s} }}
	r.engine.App.Run = func(ctx context.Context, b client.Batch, tr client.Trial) client.Result {
		if tr.CaseID == "b" {
			r.saved.mu.Lock()
			r.saved.fail = errors.New("no space left")
			r.saved.mu.Unlock()
			return killed(ctx, r.engine, b)
		}
		return shardtest.Answer("ok")
	}
	out := r.Do(t.Context())
	r.settled(t, map[string]string{"a": ""})
	if len(out.Shards) != 1 || len(out.Shards[0].Missing) != 2 {
		t.Errorf("%+v", out.Shards)
	}
}

// TestNoGrantAfterLimit: a worker that goes on all the same gets no further turn, and whatever its shard ends
// with, the limit was the reason.
func TestNoGrantAfterLimit(t *testing.T) {
	for name, ends := range map[string]func(*scripted){
		"link lost": func(s *scripted) { close(s.says) },
		"silent":    func(*scripted) {},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScripted(hello, finished("a", "a"), acquire("b"))
				s.files[results+"a"] = resultFile(key("a"), func(f *shardproto.ResultFile) {
					f.Result.FailureCode, f.Result.Infrastructure = code.OOMKilled, true
				})
				ends(s)
				c, saved, err := collect(t, s, nil)
				if err = c.blame(err); code.Of(err) != code.OOMKilled {
					t.Errorf("got %v", err)
				}
				if m := <-s.heard; m.Type != shardproto.TypeCancel || len(s.heard) != 0 {
					t.Errorf("the worker was sent %+v and %d more", m, len(s.heard))
				}
				if len(saved.trials) != 1 || len(c.out.Missing) != 1 {
					t.Errorf("recorded %v, missing %v", saved.trials, c.out.Missing)
				}
			})
		})
	}
}

// TestOnly: a bundle's trials are told apart by case, trial and variant.
func TestOnly(t *testing.T) {
	b := bundle(0, 1, "a", "b")
	w := bundle(0, 1, "a").Batches[0]
	w.Variant = "w"
	again := b.Batches[0].Requests[0]
	again.Trial = 1
	b.Batches[0].Requests = append(b.Batches[0].Requests, again)
	b.Batches = append(b.Batches, w)
	for want, keys := range map[string][]shardproto.Key{
		"v a#1":        {{Variant: "v", CaseID: "a", Trial: 1}},
		"v b#0, w a#0": {{Variant: "v", CaseID: "b"}, {Variant: "w", CaseID: "a"}},
	} {
		some := map[shardproto.Key]bool{}
		for _, k := range keys {
			some[k] = true
		}
		var got []string
		for _, batch := range only(&b, some).Batches {
			for _, r := range batch.Requests {
				got = append(got, fmt.Sprintf("%s %s#%d", batch.Variant, r.CaseID, r.Trial))
			}
		}
		if s := strings.Join(got, ", "); s != want {
			t.Errorf("%s, want %s", s, want)
		}
	}
	if n := len(b.Batches[0].Requests); n != 3 {
		t.Errorf("the bundle itself has %d requests left", n)
	}
}

// TestShardFull: a shard that a trial has filled does no other.
func TestShardFull(t *testing.T) {
	r := newRig(t, shardtest.Options{}, []string{"a", "b", "c"})
	r.engine.App.Run = func(_ context.Context, _ client.Batch, tr client.Trial) client.Result {
		if tr.CaseID == "b" {
			return client.Result{FailureCode: code.ShardFull, Error: "/home has no room left", Infrastructure: true, Submitted: true}
		}
		return shardtest.Answer(tr.Prompt)
	}
	out := r.Do(t.Context())
	r.settled(t, map[string]string{"a": "", "b": "shard_full", "c": ""})
	if len(out.Shards) != 2 || out.Shards[0].ID == out.Shards[1].ID || len(out.Shards[0].Missing) != 0 {
		t.Errorf("%+v", out.Shards)
	}
}
