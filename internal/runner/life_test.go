package runner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/backends/fake"
	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/selfcheck"
	"github.com/berth-run/berth/internal/shardproto"
	"github.com/berth-run/berth/internal/shardtest"
	"github.com/berth-run/berth/internal/version"
	"github.com/berth-run/berth/internal/worker"
	"github.com/berth-run/berth/session/client"
)

var testVersion = version.Version

func TestWholeLife(t *testing.T) {
	r := newRig(t, shardtest.Options{}, []string{"a", "b"}, []string{"c"})
	r.Bundles[0].TokenServers = []string{"wiki"}
	r.Bundles[0].Batches[0].Requests[0].Input.Servers = []client.Server{{Label: "wiki", Transport: "http", URL: "http://x", TokenEnv: "X"}}
	var wiki atomic.Value
	r.engine.App.Opening = func(_ context.Context, b client.Batch) error {
		if len(b.Servers) == 1 {
			wiki.Store(b.Servers[0].Token)
		}
		return nil
	}
	out := r.Do(t.Context())
	if err := out.SetupError(); err != nil {
		t.Fatal(err)
	}
	for i, s := range out.Shards {
		if s.Err != nil || s.Left != nil || !s.Started || s.Kept || s.ID == "" || len(s.Missing) != 0 || s.Client.Name != "test-app" {
			t.Errorf("shard %d: %+v", i, s)
		}
		for _, step := range []string{"create", "start", "channel", "selfcheck", "bundle", "inference", "collect", "shutdown", "remove"} {
			if _, ok := s.Steps[step]; !ok {
				t.Errorf("shard %d: step %s isn't timed", i, step)
			}
		}
	}
	if got, want := r.saved.kinds(), map[string]string{"a": "", "b": "", "c": ""}; !maps.Equal(got, want) {
		t.Errorf("recorded %v, want %v", got, want)
	}
	if got := r.saved.trials[key("a")].Trace.FinalText; got != "prompt a" {
		t.Errorf("answer %q", got)
	}
	if len(r.saved.evidence) != 2 {
		t.Errorf("evidence of %d shards, want 2", len(r.saved.evidence))
	}
	if wiki.Load() != "token-of-wiki" {
		t.Errorf("the app got token %v of server wiki", wiki.Load())
	}
	r.left(t)
	for _, line := range strings.Split(strings.TrimSpace(r.log.String()), "\n") {
		if !strings.HasPrefix(line, "[berth] shard ") {
			t.Errorf("progress line %q", line)
		}
	}
	for _, want := range []string{"shard 1/2: test-app 1.2, berth " + testVersion, "shard 1/2: v a #0 collected", "shard 2/2: done: 1 collected, 0 infra, 0 not run"} {
		if !strings.Contains(r.log.String(), want) {
			t.Errorf("no %q in\n%s", want, r.log)
		}
	}
}

func failing(names ...string) func(selfcheck.Expect) selfcheck.Report {
	return func(selfcheck.Expect) selfcheck.Report {
		r := selfcheck.Report{Protections: []selfcheck.Check{{Name: "fine", OK: true}}}
		for _, n := range names {
			if n == "memory" {
				r.Limits = append(r.Limits, selfcheck.Check{Name: n})
				continue
			}
			r.Protections = append(r.Protections, selfcheck.Check{Name: n})
		}
		return r
	}
}

func answering(status int, body string) func(int) http.Handler {
	return func(int) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			fmt.Fprint(w, body)
		})
	}
}

// TestSetupFails: nothing is sent, nothing is left, every trial is missing with the reason, and that
// reason is for the caller to say: progress doesn't.
func TestSetupFails(t *testing.T) {
	tests := map[string]struct {
		options shardtest.Options
		change  func(*rig)
		want    code.Code
		text    string
	}{
		"protection missing": {shardtest.Options{SelfCheck: failing("no_new_privs", "memory")}, nil, code.ProtectionMissing, "not in force in the shard: no_new_privs"},
		"limit missing":      {shardtest.Options{SelfCheck: failing("memory")}, nil, code.LimitsNotEnforced, "doesn't apply memory here"},
		"image gone":         {shardtest.Options{}, func(r *rig) { r.Image = "other" }, code.ShardNotCreated, "image other"},
		"create fails": {
			shardtest.Options{Fake: fake.Options{OnCreate: func(backends.Config) error { return errors.New("no space\nleft") }}}, nil, code.ShardNotCreated, "no space; left",
		},
		"start fails": {
			shardtest.Options{Fake: fake.Options{OnStart: func(string) error { return errors.New("no such runtime") }}}, nil, code.ShardNotCreated, "no such runtime",
		},
		"bad spec":  {shardtest.Options{}, func(r *rig) { r.Spec.MemoryBytes = -1 }, code.ShardNotCreated, "emory"},
		"no worker": {shardtest.Options{}, func(r *rig) { r.Spec.Args = []string{"/bin/true"}; r.engine.Register("/bin/true", ends(0)) }, code.ShardLost, "the shard ended with status 0"},
		"dead man's switch": {
			shardtest.Options{Worker: func(o *worker.Options) { o.Deadman = time.Nanosecond }}, nil,
			code.ShardLost, "its dead man's switch ended it: nothing was heard from berth for 10m0s",
		},
		"no token":     {shardtest.Options{}, func(r *rig) { r.Inference.Provide = provideError }, code.InferenceUnavailable, "no token"},
		"gateway 401":  {shardtest.Options{}, func(r *rig) { r.Inference.Handler = answering(401, "") }, code.InferenceUnavailable, "status: 401"},
		"gateway 500":  {shardtest.Options{}, func(r *rig) { r.Inference.Handler = answering(500, "out of order") }, code.InferenceUnavailable, "status: 500 out of order"},
		"gateway HTML": {shardtest.Options{}, func(r *rig) { r.Inference.Handler = answering(200, "<html>") }, code.InferenceUnavailable, "body: "},
		"unlisted model": {
			shardtest.Options{}, func(r *rig) { r.Inference.Models = []string{"m", "n"} }, code.InferenceUnavailable, `doesn't list model "n"; it lists m`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, tt.options, []string{"a", "b"})
			if tt.change != nil {
				tt.change(r)
			}
			out := r.Do(t.Context())
			err := out.SetupError()
			if code.Of(err) != tt.want || !strings.Contains(err.Error(), tt.text) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want %s with %q", err, tt.want, tt.text)
			}
			s := out.Shards[0]
			if s.Started || len(s.Missing) != 2 || s.Missing[0].Reason != code.Line(err.Error()) {
				t.Errorf("%+v", s)
			}
			if n := len(r.engine.App.Trials()); n != 0 || len(r.saved.trials) != 0 {
				t.Errorf("%d trials were run, %d recorded", n, len(r.saved.trials))
			}
			if strings.Contains(r.log.String(), "stopped") || strings.Contains(r.log.String(), token) {
				t.Errorf("progress:\n%s", r.log)
			}
			r.left(t)
		})
	}
}

func ends(status int) fake.Program {
	return func(context.Context, fake.ProcessIO) int { return status }
}

func provideError(context.Context, int, func(context.Context, []byte) error, func(error)) error {
	return errors.New("no token")
}

func TestBestEffortLimits(t *testing.T) {
	r := newRig(t, shardtest.Options{SelfCheck: failing("memory")}, []string{"a"})
	r.Options.Limits = LimitsBestEffort
	out := r.Do(t.Context())
	if err := out.Shards[0].Err; err != nil {
		t.Error(err)
	}
	if got := selfcheck.Missing(out.Shards[0].Check.Limits); !slices.Equal(got, []string{"memory"}) {
		t.Errorf("the outcome has %v as not enforced", got)
	}
	if !strings.Contains(r.log.String(), "limits not in force: memory") {
		t.Errorf("progress:\n%s", r.log)
	}
}

func TestAPIKeyMode(t *testing.T) {
	r := newRig(t, shardtest.Options{}, []string{"a"})
	r.Inference = Inference{Mode: client.ModeAPIKey, Provide: r.Inference.Provide}
	r.Bundles[0].Inference = shardproto.Inference{Mode: client.ModeAPIKey}
	if out := r.Do(t.Context()); out.Shards[0].Err != nil || out.Shards[0].Finished != 1 {
		t.Errorf("%+v", out.Shards[0])
	}
}

// TestOtherVersion: the worker of another build is found out before a prompt is sent, and every other
// shard ends too.
func TestOtherVersion(t *testing.T) {
	r := newRig(t, shardtest.Options{}, []string{"a"}, []string{"b"})
	for i := range r.Bundles {
		r.Bundles[i].MST = "0.0.1"
	}
	out := r.Do(t.Context())
	for _, s := range out.Shards {
		if c := code.Of(s.Err); c != code.WorkerMismatch && c != code.Cancelled {
			t.Errorf("got %v", s.Err)
		}
	}
	if len(r.engine.App.Trials()) != 0 {
		t.Error("a prompt was sent")
	}
	r.left(t)
}

// TestFailAlike: what stops every shard is said once.
func TestFailAlike(t *testing.T) {
	r := newRig(t, shardtest.Options{SelfCheck: failing("memory")}, []string{"a"}, []string{"b"}, []string{"c"}, []string{"d"})
	out := r.Do(t.Context())
	if err := out.SetupError(); code.Of(err) != code.LimitsNotEnforced {
		t.Errorf("got %v", err)
	}
	if strings.Contains(r.log.String(), "limits_not_enforced") {
		t.Errorf("progress says what the caller says:\n%s", r.log)
	}
}

// TestOneShardNotCreated: the others go on, and the reason is said.
func TestOneShardNotCreated(t *testing.T) {
	o := shardtest.Options{Fake: fake.Options{OnCreate: func(c backends.Config) error {
		if c.Labels["shard"] == "0" {
			return errors.New("no more loop devices")
		}
		return nil
	}}}
	r := newRig(t, o, []string{"a"}, []string{"b"})
	out := r.Do(t.Context())
	if out.SetupError() != nil || code.Of(out.Shards[0].Err) != code.ShardNotCreated || out.Shards[1].Err != nil {
		t.Errorf("%v, %v", out.Shards[0].Err, out.Shards[1].Err)
	}
	if n := strings.Count(r.log.String(), "shard 1/2: stopped: shard_not_created: no more loop devices"); n != 1 {
		t.Errorf("the reason is said %d times:\n%s", n, r.log)
	}
}

// TestOneShardWithoutModel: a gateway that one shard has reached and another hasn't is no reason to cut
// the first one's trials.
func TestOneShardWithoutModel(t *testing.T) {
	r := newRig(t, shardtest.Options{}, []string{"a"}, []string{"b"})
	running, failed := make(chan struct{}), make(chan struct{})
	provide := r.Inference.Provide
	r.Inference.Provide = func(ctx context.Context, shard int, write func(context.Context, []byte) error, warn func(error)) error {
		if shard == 0 {
			return provide(ctx, shard, write, warn)
		}
		<-running
		return errors.New("no token")
	}
	r.Backend = decorated{r.engine, func(s backends.Shard) backends.Shard { return &removalWatch{s, failed} }}
	r.engine.App.Run = func(ctx context.Context, _ client.Batch, _ client.Trial) client.Result {
		close(running)
		<-failed // the other shard is removed by then
		if ctx.Err() != nil {
			return shardtest.Cancelled(ctx)
		}
		return shardtest.Answer("ok")
	}
	out := r.Do(t.Context())
	if out.Shards[0].Err != nil || code.Of(out.Shards[1].Err) != code.InferenceUnavailable {
		t.Errorf("%v, %v", out.Shards[0].Err, out.Shards[1].Err)
	}
	if got, want := r.saved.kinds(), map[string]string{"a": ""}; !maps.Equal(got, want) {
		t.Errorf("recorded %v, want %v", got, want)
	}
}

// TestFailedTrials: a trial's failure is its result, and the shard goes on.
func TestFailedTrials(t *testing.T) {
	r := newRig(t, shardtest.Options{}, []string{"fails", "infra", "fine"})
	r.engine.App.Run = func(_ context.Context, _ client.Batch, tr client.Trial) client.Result {
		switch tr.CaseID {
		case "fails":
			return client.Result{FailureCode: code.Timeout, Error: "too slow\x1b[2J", Submitted: true}
		case "infra":
			return client.Result{FailureCode: code.AppStartFailed, Error: "no app", Infrastructure: true}
		}
		return shardtest.Answer("ok")
	}
	out := r.Do(t.Context())
	if out.Shards[0].Err != nil || out.Shards[0].Finished != 3 {
		t.Errorf("%+v", out.Shards[0])
	}
	if got, want := r.saved.kinds(), map[string]string{"fails": "timeout", "infra": "app_start_failed", "fine": ""}; !maps.Equal(got, want) {
		t.Errorf("recorded %v", got)
	}
	for _, want := range []string{"v fails #0 collected (timeout: too slow [2J)", "v infra #0 infra (app_start_failed: no app)"} {
		if !strings.Contains(r.log.String(), want) {
			t.Errorf("no %q in\n%s", want, r.log)
		}
	}
}

// TestShardDies: the trial that was under way is recorded as lost to infrastructure, the one that
// finished stays, and what hadn't begun is missing with the reason.
func TestShardDies(t *testing.T) {
	r := newRig(t, shardtest.Options{}, []string{"first", "second", "third"})
	r.engine.App.Run = func(ctx context.Context, b client.Batch, tr client.Trial) client.Result {
		if tr.CaseID == "second" {
			return killed(ctx, r.engine, b)
		}
		return shardtest.Answer("ok")
	}
	out := r.Do(t.Context())
	s := out.Shards[0]
	if code.Of(s.Err) != code.ShardLost || !strings.Contains(s.Err.Error(), "the shard ended with status 137") {
		t.Errorf("got %v", s.Err)
	}
	if got, want := r.saved.kinds(), map[string]string{"first": "", "second": string(code.ShardLost)}; !maps.Equal(got, want) {
		t.Errorf("recorded %v, want %v", got, want)
	}
	if cut := r.saved.trials[key("second")]; !cut.Infrastructure || !cut.Submitted || cut.Error != code.Detail(s.Err) {
		t.Errorf("the trial under way: %+v", cut)
	}
	if len(out.Shards) != 1 || len(s.Missing) != 1 || s.Missing[0].Key != key("third") || s.Missing[0].Reason != s.Err.Error() {
		t.Errorf("%d shards, missing %+v", len(out.Shards), s.Missing)
	}
	if !strings.Contains(r.log.String(), "stopped: "+string(code.ShardLost)) {
		t.Errorf("progress:\n%s", r.log)
	}
	r.left(t)
}

// killed is a trial whose shard's PID 1 is killed under it.
func killed(ctx context.Context, e *shardtest.Engine, b client.Batch) client.Result {
	go e.Kill(e.ShardOf(b))
	<-ctx.Done()
	return shardtest.Cancelled(ctx)
}

// TestLostLink: the channel's exec is killed in the middle of a trial, which goes on; nothing is lost
// and nothing comes twice.
func TestLostLink(t *testing.T) {
	r := newRig(t, shardtest.Options{}, []string{"a", "b", "c"})
	r.engine.App.Run = func(_ context.Context, _ client.Batch, tr client.Trial) client.Result {
		if n := r.engine.Cut(r.engine.IDs()[0]); n != 1 {
			t.Errorf("%d channels were open", n)
		}
		return shardtest.Answer(tr.Prompt)
	}
	out := r.Do(t.Context())
	if s := out.Shards[0]; s.Err != nil || s.Finished != 3 {
		t.Errorf("%+v", s)
	}
	if got, want := r.saved.kinds(), map[string]string{"a": "", "b": "", "c": ""}; !maps.Equal(got, want) || len(r.saved.twice) != 0 {
		t.Errorf("recorded %v, twice %v", got, r.saved.twice)
	}
	if n := len(r.engine.App.Trials()); n != 3 {
		t.Errorf("%d trials were run", n)
	}
	r.left(t)
}

// TestDiskFull: what was saved stays, and every shard ends.
func TestDiskFull(t *testing.T) {
	r := newRig(t, shardtest.Options{}, []string{"a", "b", "c"}, []string{"d"})
	running := make(chan struct{})
	r.engine.App.Run = func(ctx context.Context, _ client.Batch, tr client.Trial) client.Result {
		switch tr.CaseID {
		case "b":
			<-running
			r.saved.mu.Lock()
			r.saved.fail = syscall.ENOSPC
			r.saved.mu.Unlock()
		case "d":
			close(running)
			<-ctx.Done()
			return shardtest.Cancelled(ctx)
		}
		return shardtest.Answer("ok")
	}
	out := r.Do(t.Context())
	if err := out.Shards[0].Err; code.Of(err) != code.ResultsNotSaved || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("got %v", err)
	}
	if err := out.Shards[1].Err; code.Of(err) != code.Cancelled || !strings.Contains(err.Error(), "shard 1/2 ended the run") {
		t.Errorf("the other shard: %v", err)
	}
	if got, want := r.saved.kinds(), map[string]string{"a": ""}; !maps.Equal(got, want) {
		t.Errorf("saved %v", got)
	}
	if out.Shards[0].Finished != 1 || len(out.Shards[0].Missing) != 2 || len(out.Shards[1].Missing) != 1 {
		t.Errorf("%+v", out)
	}
	r.left(t)
}

// TestRemoveFails: the results stand, and what is left is named with what to do.
func TestRemoveFails(t *testing.T) {
	r := newRig(t, shardtest.Options{}, []string{"a"})
	r.Backend = decorated{r.engine, func(s backends.Shard) backends.Shard { return stuckShard{s} }}
	s := r.Do(t.Context()).Shards[0]
	if s.Err != nil || s.Finished != 1 || !errors.Is(s.Left, ErrLeft) || !errors.Is(s.Left, errStuck) {
		t.Errorf("%+v", s)
	}
	if want := s.ID + " is left on the engine; `berth sweep` removes it once this run is over: device or resource busy"; !strings.Contains(r.log.String(), want) {
		t.Errorf("no %q in\n%s", want, r.log)
	}
	if err := r.engine.Kill(s.ID); err != nil {
		t.Error(err)
	}
}

// TestUncleanWorker: an app that doesn't stop is told; the results stand.
func TestUncleanWorker(t *testing.T) {
	r := newRig(t, shardtest.Options{}, []string{"a"})
	r.engine.App.Closing = func() error { return errors.New("still there") }
	s := r.Do(t.Context()).Shards[0]
	if code.Of(s.Err) != code.AppStopFailed || s.Finished != 1 || len(s.Missing) != 0 {
		t.Errorf("%+v", s)
	}
	r.left(t)
}

// TestLimitsAcrossShards: two places for all shards' trials together.
func TestLimitsAcrossShards(t *testing.T) {
	r := newRig(t, shardtest.Options{}, []string{"a", "b"}, []string{"c", "d"}, []string{"e", "f"}, []string{"g", "h"})
	r.Limits = map[string]int{"provider:openai": 2}
	var now, most atomic.Int64
	two := make(chan struct{})
	reached := sync.OnceFunc(func() { close(two) }) // both may see that they are two
	r.engine.App.Run = func(_ context.Context, _ client.Batch, tr client.Trial) client.Result {
		n := now.Add(1)
		defer now.Add(-1)
		raise(&most, n)
		if len(r.engine.App.Trials()) >= 2 {
			reached()
		}
		<-two // so that two are sure to be under way at once
		return shardtest.Answer("ok")
	}
	out := r.Do(t.Context())
	for _, s := range out.Shards {
		if s.Err != nil || s.Finished != 2 {
			t.Errorf("%+v", s)
		}
	}
	if most.Load() != 2 {
		t.Errorf("%d trials at once, want 2", most.Load())
	}
}

func TestManyShards(t *testing.T) {
	var shards [][]string
	for i := range 24 {
		shards = append(shards, []string{fmt.Sprintf("case-%d", i), fmt.Sprintf("other-%d", i)})
	}
	r := newRig(t, shardtest.Options{}, shards...)
	r.Limits = map[string]int{"provider:openai": 3}
	out := r.Do(t.Context())
	for _, s := range out.Shards {
		if s.Err != nil || s.Finished != 2 {
			t.Errorf("%+v", s)
		}
	}
	if len(r.saved.trials) != 48 || len(r.saved.twice) != 0 {
		t.Errorf("%d trials recorded, twice %v", len(r.saved.trials), r.saved.twice)
	}
	r.left(t)
}
