package eval

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/backends/fake"
	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/inference"
	"github.com/berth-run/berth/internal/report"
	"github.com/berth-run/berth/internal/results"
	"github.com/berth-run/berth/internal/runner"
	"github.com/berth-run/berth/internal/selfcheck"
	"github.com/berth-run/berth/internal/shardtest"
	"github.com/berth-run/berth/internal/version"
	"github.com/berth-run/berth/session/client"
)

// TestRun is the whole path: config, plan, shards, gateway, results.
func TestRun(t *testing.T) {
	r := newRig(t, shardtest.Options{}, "shards=2")
	r.GatewayLog = filepath.Join(t.TempDir(), "gateway.log")
	res := r.run(t)
	if res.SetupError() != nil || res.ExitStatus() != report.ExitFailed {
		t.Errorf("exit status %d, %v; want 1 for case b", res.ExitStatus(), res.SetupError())
	}
	if m := res.Summary.Metrics; m.Passed != 4 || m.Failed != 2 || m.Incomplete != 0 {
		t.Errorf("%+v", m)
	}
	if err := res.Publish(); err != nil {
		t.Fatal(err)
	}
	latest, err := results.ReadLatest(r.EvalDir)
	if err != nil || latest.RunID != res.Record.RunID {
		t.Errorf("latest %+v, %v", latest, err)
	}
	saved := files(t, res.Dir)
	for _, c := range []string{"a", "b", "c"} {
		for _, v := range []string{"one", "two"} {
			name := fmt.Sprintf("traces/%s/%s/0.json", v, c)
			if tr := decode[results.Trial](t, saved[name]); tr.CaseID != c || tr.DatasetName != "cases" || tr.ClientMetadata["nativeReadiness"] == nil {
				t.Errorf("%s: %+v", name, tr)
			}
		}
	}
	facts := res.Record.Runner
	if facts.Engine.Name != "fake" || facts.Image.Ref != ImageName("codex") || facts.Network != "none" || facts.Inference != "gateway" ||
		facts.Credential != "file" || facts.LimitsMode != "enforced" || facts.Versions["test-app"] != "1.2" || len(facts.Shards) != 2 || len(facts.NativeReadiness) != 2 {
		t.Errorf("recorded of the runner: %+v", facts)
	}
	if !slices.Contains(facts.Notes, "answered by a script, not by a model") {
		t.Errorf("notes %q", facts.Notes)
	}
	if log, err := os.ReadFile(r.GatewayLog); err != nil || strings.Count(string(log), "/v1/models") != 2 {
		t.Errorf("the gateway's log, %v:\n%s", err, log)
	}
	r.left(t)
}

// TestAppReachesTheModel: what the app is told leads to the gateway, with a token that it takes; and
// a token that the app prints, however it's written, is nowhere afterwards.
func TestAppReachesTheModel(t *testing.T) {
	for _, mode := range []string{runner.CredentialFile, runner.CredentialBroker} {
		t.Run(mode, func(t *testing.T) {
			r := newRig(t, shardtest.Options{}, "credential="+mode)
			var token atomic.Value
			r.engine.App.Run = func(ctx context.Context, b client.Batch, _ client.Trial) client.Result {
				raw, err := os.ReadFile(b.Inference.TokenFile)
				if err != nil {
					t.Error(err)
				}
				token.Store(string(raw))
				q, _ := http.NewRequestWithContext(ctx, http.MethodGet, b.Inference.BaseURL+"/models", nil)
				q.Header.Set("Authorization", "Bearer "+string(raw))
				resp, err := http.DefaultClient.Do(q)
				if err != nil || resp.StatusCode != http.StatusOK {
					t.Errorf("%v, %v", resp, err)
				} else {
					resp.Body.Close()
				}
				for name, body := range map[string][]byte{"log": raw, "log64": []byte(base64.StdEncoding.EncodeToString(raw)), string(raw): nil} {
					if err := os.WriteFile(filepath.Join(b.EvidenceDir, name), body, 0); err != nil && !errors.Is(err, os.ErrPermission) {
						t.Error(err)
					}
				}
				res := shardtest.Answer("my token is " + string(raw))
				res.Metadata = map[string]any{"said": string(raw)}
				return res
			}
			res := r.run(t)
			secret := token.Load().(string)
			if len(secret) < 8 {
				t.Fatalf("token %q", secret)
			}
			saved := files(t, r.EvalDir)
			masked := 0
			for name, body := range saved {
				for _, s := range []string{secret, base64.StdEncoding.EncodeToString([]byte(secret))} {
					if strings.Contains(name+body, s) {
						t.Errorf("%s has the token", name)
					}
				}
				masked += strings.Count(body, "[redacted]")
			}
			if strings.Contains(r.log.String(), secret) || masked == 0 {
				t.Errorf("%d maskings; progress:\n%s", masked, r.log)
			}
			if res.Record.Runner.Credential != mode {
				t.Errorf("recorded credential %q", res.Record.Runner.Credential)
			}
		})
	}
}

// TestResume: only what is missing or was lost to infrastructure runs again.
func TestResume(t *testing.T) {
	r := newRig(t, shardtest.Options{})
	r.engine.App.Run = func(ctx context.Context, b client.Batch, tr client.Trial) client.Result {
		if b.Variant == "one" && tr.CaseID == "b" {
			go r.engine.Kill(r.engine.IDs()[0])
			<-ctx.Done()
			return shardtest.Cancelled(ctx)
		}
		return shardtest.Answer(tr.Prompt)
	}
	first := r.run(t)
	if got := first.ExitStatus(); got != report.ExitInfra {
		t.Errorf("exit status %d, want 4", got)
	}
	if n := first.Summary.Trials; n.Missing != 4 || n.Infra != 1 {
		t.Errorf("%+v", n)
	}
	if sh := first.Record.Runner.Shards[0]; !strings.HasPrefix(sh.Error, "shard_lost: ") || len(sh.Missing) != 4 || sh.Missing[0].Reason != sh.Error {
		t.Errorf("recorded of the shard: %+v", sh)
	}
	if err := first.Publish(); err != nil {
		t.Error(err)
	}
	if _, err := results.ReadLatest(r.EvalDir); !errors.Is(err, results.ErrNoRun) {
		t.Errorf("an incomplete run is the latest: %v", err)
	}

	ran := len(r.engine.App.Trials())
	r.engine.App.Run = nil
	r.Resume = first.Record.RunID[len(first.Record.RunID)-6:]
	again := r.run(t)
	if n := len(r.engine.App.Trials()) - ran; n != 5 {
		t.Errorf("%d trials ran again, want 5", n)
	}
	if again.Dir != first.Dir || again.Summary.Trials.Missing != 0 || again.Summary.Trials.Infra != 0 || again.ExitStatus() != report.ExitFailed {
		t.Errorf("%+v, exit status %d", again.Summary.Trials, again.ExitStatus())
	}

	ran = len(r.engine.App.Trials())
	if done := r.run(t); done.SetupError() != nil || done.ExitStatus() != report.ExitFailed || len(r.engine.App.Trials()) != ran {
		t.Errorf("a complete run: %v, exit status %d, %d trials", done.SetupError(), done.ExitStatus(), len(r.engine.App.Trials())-ran)
	}
}

// TestRefusals: what is wrong before a shard exists is an error that says what to do, and makes no folder.
func TestRefusals(t *testing.T) {
	unset := func(t *testing.T) {
		for _, name := range []string{inference.EnvBaseURL, inference.EnvAPIKey, inference.EnvCommand} {
			t.Setenv(name, "")
		}
	}
	tests := map[string]struct {
		change func(*testing.T, *rig)
		want   error
		text   string
	}{
		"no image":      {func(t *testing.T, r *rig) { r.engine.RemoveImage(t.Context(), ImageName("codex")) }, ErrImage, "berth runner setup podman"},
		"foreign image": {func(_ *testing.T, r *rig) { r.Options.Image = shardtest.Image }, ErrImage, "isn't one of berth's"},
		"other client":  {func(_ *testing.T, r *rig) { r.Eval.All[1].Client = "cowork" }, ErrClient, `variant "two" uses client "cowork"`},
		"app's image":   {func(_ *testing.T, r *rig) { r.Eval.All[1].Client = "chatgpt" }, ErrImage, "berth-chatgpt-linux:" + version.Version + "; run `berth runner setup podman --config … --runner-option app=FILE.deb` first"},
		"no way":        {func(t *testing.T, r *rig) { unset(t); r.Script = nil }, inference.ErrNoWay, "OPENAI_BASE_URL"},
		"no secrets":    {func(_ *testing.T, r *rig) { r.SecretsFile = "/nowhere" }, ErrSecrets, "/nowhere"},
		"no such run":   {func(_ *testing.T, r *rig) { r.Resume = "abcdef" }, results.ErrNoRun, "abcdef"},
		"gateway log":   {func(_ *testing.T, r *rig) { r.GatewayLog = "/nowhere/log" }, os.ErrNotExist, "/nowhere/log"},
		"broker without a gateway": {func(t *testing.T, r *rig) {
			unset(t)
			t.Setenv(inference.EnvAPIKey, "sk-12345678")
			r.Script, r.Credential = nil, runner.CredentialBroker
		}, inference.ErrBrokerMode, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, shardtest.Options{})
			tt.change(t, r)
			_, err := Run(t.Context(), r.Request)
			if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want %v with %q", err, tt.want, tt.text)
			}
			if n := len(files(t, r.EvalDir)); n != 0 {
				t.Errorf("%d files were made", n)
			}
			r.left(t)
		})
	}
}

// TestExitStatus: what becomes of a run whose shards fail in one way or another.
func TestExitStatus(t *testing.T) {
	limits := func(selfcheck.Expect) selfcheck.Report {
		return selfcheck.Report{Limits: []selfcheck.Check{{Name: "memory"}}}
	}
	none := shardtest.Options{Fake: fake.Options{OnCreate: func(backends.Config) error { return backends.ErrUnavailable }}}
	tests := map[string]struct {
		options []string
		engine  shardtest.Options
		change  func(*rig)
		want    int
		code    code.Code
	}{
		"limits":             {nil, shardtest.Options{SelfCheck: limits}, nil, report.ExitSetup, code.LimitsNotEnforced},
		"best-effort limits": {[]string{"limits=best-effort"}, shardtest.Options{SelfCheck: limits}, nil, report.ExitFailed, ""},
		"unlisted model":     {nil, shardtest.Options{}, func(r *rig) { r.Eval.Variants[0].Model = "gpt-9" }, report.ExitSetup, code.InferenceUnavailable},
		"no shard":           {nil, none, nil, report.ExitSetup, code.ShardNotCreated},
		"all pass":           {nil, shardtest.Options{}, func(r *rig) { answerAll(r, "alpha beta gamma delta") }, report.ExitPassed, ""},
		"drained": {nil, shardtest.Options{}, func(r *rig) {
			drain := make(chan struct{})
			close(drain)
			r.Drain = drain
		}, report.ExitInfra, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, tt.engine, tt.options...)
			if tt.change != nil {
				tt.change(r)
			}
			res := r.run(t)
			if got := res.ExitStatus(); got != tt.want || code.Of(res.SetupError()) != tt.code {
				t.Errorf("exit status %d, %v; want %d, %s", got, res.SetupError(), tt.want, tt.code)
			}
			r.left(t)
		})
	}
}

func answerAll(r *rig, text string) {
	r.engine.App.Run = func(context.Context, client.Batch, client.Trial) client.Result { return shardtest.Answer(text) }
}

func TestBestEffortIsRecorded(t *testing.T) {
	r := newRig(t, shardtest.Options{SelfCheck: func(selfcheck.Expect) selfcheck.Report {
		return selfcheck.Report{Limits: []selfcheck.Check{{Name: "memory"}, {Name: "pids", OK: true}}}
	}}, "limits=best-effort", "shards=2")
	rec := r.run(t).Record.Runner
	if rec.LimitsMode != "best-effort" || !slices.Equal(rec.NotEnforced, []string{"memory"}) {
		t.Errorf("recorded %q, %q", rec.LimitsMode, rec.NotEnforced)
	}
}

// TestFolderGone: the shards are done and the folder can't be completed.
func TestFolderGone(t *testing.T) {
	r := newRig(t, shardtest.Options{})
	r.engine.App.Run = func(context.Context, client.Batch, client.Trial) client.Result {
		if err := os.RemoveAll(r.EvalDir); err != nil {
			t.Error(err)
		}
		if err := os.WriteFile(r.EvalDir, nil, 0o600); err != nil {
			t.Error(err)
		}
		return shardtest.Answer("ok")
	}
	_, err := Run(t.Context(), r.Request)
	if !errors.Is(err, ErrUnfinished) {
		t.Errorf("got %v", err)
	}
	if !strings.Contains(r.log.String(), "stopped: results_not_saved: ") {
		t.Errorf("progress:\n%s", r.log)
	}
	r.left(t)
}
