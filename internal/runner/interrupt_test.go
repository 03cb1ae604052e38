package runner

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/backends/fake"
	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/shardtest"
	"github.com/berth-run/berth/session/client"
)

// TestDrain: the trial under way is cancelled, the finished one stays, the rest isn't run.
func TestDrain(t *testing.T) {
	r := newRig(t, shardtest.Options{}, []string{"a", "b", "c"})
	drain := make(chan struct{})
	r.Drain = drain
	r.engine.App.Run = func(ctx context.Context, _ client.Batch, tr client.Trial) client.Result {
		if tr.CaseID == "b" {
			close(drain)
			<-ctx.Done()
			return shardtest.Cancelled(ctx)
		}
		return shardtest.Answer("ok")
	}
	out := r.Do(t.Context())
	s := out.Shards[0]
	if s.Err != nil || out.SetupError() != nil {
		t.Errorf("%+v", s)
	}
	if got, want := r.saved.kinds(), map[string]string{"a": "", "b": "cancelled"}; !maps.Equal(got, want) {
		t.Errorf("recorded %v, want %v", got, want)
	}
	if len(s.Missing) != 1 || s.Missing[0].Key != key("c") || s.Missing[0].Reason != "cancelled before it ran" {
		t.Errorf("missing %+v", s.Missing)
	}
	if len(r.saved.evidence) != 1 {
		t.Error("the evidence wasn't taken home")
	}
	r.left(t)
}

// TestDrainBeforeTrials: a shard that is being set up is taken down at once, whatever it waits for.
func TestDrainBeforeTrials(t *testing.T) {
	created := 0
	r := newRig(t, shardtest.Options{Fake: fake.Options{OnCreate: func(backends.Config) error { created++; return nil }}}, []string{"a"})
	drain := make(chan struct{})
	r.Drain = drain
	r.Inference.Provide = func(ctx context.Context, _ int, _ func(context.Context, []byte) error, _ func(error)) error {
		close(drain)
		<-ctx.Done()
		return context.Cause(ctx)
	}
	out := r.Do(t.Context())
	if s := out.Shards[0]; code.Of(s.Err) != code.Cancelled || s.Started || len(s.Missing) != 1 {
		t.Errorf("%+v", s)
	}
	if out.SetupError() != nil {
		t.Errorf("an interrupt counts as a failed set-up: %v", out.SetupError())
	}
	r.left(t)

	again := r.Do(t.Context()) // with the drain closed from the start
	if s := again.Shards[0]; code.Of(s.Err) != code.Cancelled || created != 1 {
		t.Errorf("%v with %d shards created, want 1", s.Err, created)
	}
}

// TestForced: the second interrupt takes everything down at once, kept shards too; what was under way
// is recorded as cancelled.
func TestForced(t *testing.T) {
	interrupted := errors.New("interrupted")
	for _, keep := range []string{KeepNever, KeepFailed, KeepAlways} {
		t.Run(keep, func(t *testing.T) {
			r := newRig(t, shardtest.Options{}, []string{"a", "b"})
			r.Options.Keep = keep
			ctx, cancel := context.WithCancelCause(t.Context())
			r.engine.App.Run = func(ctx context.Context, _ client.Batch, tr client.Trial) client.Result {
				cancel(interrupted)
				<-ctx.Done()
				return shardtest.Cancelled(ctx)
			}
			s := r.Do(ctx).Shards[0]
			if code.Of(s.Err) != code.Cancelled || !errors.Is(s.Err, interrupted) || s.Kept {
				t.Errorf("%+v", s)
			}
			if got, want := r.saved.kinds(), map[string]string{"a": "cancelled"}; !maps.Equal(got, want) {
				t.Errorf("recorded %v, want %v", got, want)
			}
			if got := r.saved.trials[key("a")].Error; got != "interrupted" {
				t.Errorf("recorded the error %q, without its code it is %q", got, "interrupted")
			}
			r.left(t)
		})
	}
}

// TestEndedInSetUp: a shard that is still being set up says what ended it.
func TestEndedInSetUp(t *testing.T) {
	interrupted := errors.New("interrupted")
	tests := map[string]struct {
		first func(cancel context.CancelCauseFunc) error // what shard 1's credential does
		want  string
		is    error
	}{
		"by another shard": {func(context.CancelCauseFunc) error { return errors.New("no token") }, "cancelled: shard 1/2 ended the run", nil},
		"by the user":      {func(cancel context.CancelCauseFunc) error { cancel(interrupted); return interrupted }, "cancelled: interrupted", interrupted},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, shardtest.Options{}, []string{"a"}, []string{"b"})
			ctx, cancel := context.WithCancelCause(t.Context())
			waiting := make(chan struct{})
			r.Inference.Provide = func(ctx context.Context, shard int, _ func(context.Context, []byte) error, _ func(error)) error {
				if shard == 0 {
					<-waiting
					return tt.first(cancel)
				}
				close(waiting)
				<-ctx.Done()
				return ctx.Err()
			}
			err := r.Do(ctx).Shards[1].Err
			if err == nil || err.Error() != tt.want || tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
			r.left(t)
		})
	}
}

func TestKeep(t *testing.T) {
	tests := []struct {
		keep string
		fail bool
		kept bool
	}{
		{KeepNever, false, false},
		{KeepNever, true, false},
		{KeepFailed, false, false},
		{KeepFailed, true, true},
		{KeepAlways, false, true},
		{KeepAlways, true, true},
	}
	for _, tt := range tests {
		name := tt.keep
		if tt.fail {
			name += " and failed"
		}
		t.Run(name, func(t *testing.T) {
			r := newRig(t, shardtest.Options{}, []string{"a"})
			r.Options.Keep = tt.keep
			if tt.fail {
				r.saved.fail = errors.New("no")
			}
			kept := &keepListener{}
			s := newShard(&common{Run: r.Run, log: newProgress(nil, nil), forced: t.Context()}, &r.Bundles[0])
			s.leave(t.Context(), kept, errIf(tt.fail))
			if kept.told != tt.kept || kept.ended != (!tt.kept && !tt.fail) {
				t.Errorf("the worker was told to stay: %t, to end: %t", kept.told, kept.ended)
			}

			out := r.Do(t.Context()).Shards[0]
			if out.Kept != tt.kept || (out.Err != nil) != tt.fail {
				t.Fatalf("kept %t with %v, want %t", out.Kept, out.Err, tt.kept)
			}
			list, err := r.engine.List(t.Context(), nil)
			if err != nil || len(list) == 1 != tt.kept {
				t.Fatalf("on the engine: %v, %v", list, err)
			}
			if !tt.kept {
				return
			}
			if list[0].State != backends.StateRunning || !strings.Contains(r.log.String(), "kept as "+out.ID) {
				t.Errorf("%+v; progress:\n%s", list[0], r.log)
			}
			sh, err := r.engine.Open(t.Context(), out.ID)
			if err == nil {
				err = sh.Remove(t.Context())
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}

func errIf(fail bool) error {
	if fail {
		return errors.New("failed")
	}
	return nil
}

// TestNothingToKeep: a shard that couldn't be started is no use to anybody.
func TestNothingToKeep(t *testing.T) {
	r := newRig(t, shardtest.Options{Fake: fake.Options{OnStart: func(string) error { return errors.New("no") }}}, []string{"a"})
	r.Options.Keep = KeepAlways
	if s := r.Do(t.Context()).Shards[0]; s.Kept || code.Of(s.Err) != code.ShardNotCreated {
		t.Errorf("%+v", s)
	}
	r.left(t)
}
