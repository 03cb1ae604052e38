package main

import (
	"context"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/internal/report"
	"github.com/berth-run/berth/internal/results"
	"github.com/berth-run/berth/internal/shardtest"
	"github.com/berth-run/berth/session/client"
)

// TestFirstInterrupt ends gracefully: what came back is graded and told, the rest is missing.
func TestFirstInterrupt(t *testing.T) {
	r := newRig(t, shardtest.Options{})
	r.engine.App.Run = func(ctx context.Context, _ client.Batch, tr client.Trial) client.Result {
		if tr.CaseID == "b" {
			r.signals <- os.Interrupt
			<-ctx.Done()
			return shardtest.Cancelled(ctx)
		}
		return shardtest.Answer(tr.Prompt)
	}
	if status := r.do("run", "-c", "eval.json", "--script", "default"); status != report.ExitInfra {
		t.Errorf("exit status %d, want 4:\n%s", status, r.stderr)
	}
	if !strings.Contains(r.stderr.String(), "[berth] ending; what has finished is kept.") || !strings.Contains(r.stdout.String(), "2 missing, 1 lost to infrastructure") {
		t.Errorf("stdout:\n%s\nstderr:\n%s", r.stdout, r.stderr)
	}
	r.left(t)
}

// TestSecondInterrupt ends at once, with a status of its own; what came back is kept all the same.
func TestSecondInterrupt(t *testing.T) {
	r := newRig(t, shardtest.Options{})
	r.engine.App.Run = func(ctx context.Context, _ client.Batch, tr client.Trial) client.Result {
		if tr.CaseID == "b" {
			r.signals <- os.Interrupt
			<-ctx.Done()
			r.signals <- os.Interrupt
			<-t.Context().Done() // an app that doesn't heed
		}
		return shardtest.Answer(tr.Prompt)
	}
	if status := r.do("run", "-c", "eval.json", "--script", "default"); status != report.ExitInterrupted {
		t.Errorf("exit status %d, want 130:\n%s", status, r.stderr)
	}
	found := regexp.MustCompile(`berth: interrupted; what came back is in (\S+), and --resume (\S+) collects the rest\n$`).FindStringSubmatch(r.stderr.String())
	if found == nil {
		t.Fatalf("stderr:\n%s", r.stderr)
	}
	run, err := results.Open(".mcp-test-results/test", found[2])
	if err != nil || run.Dir != found[1] && !strings.HasSuffix(run.Dir, found[1]) {
		t.Fatalf("%v, %v", run, err)
	}
	trials, err := run.Trials()
	if err != nil || len(trials) != 2 || run.Record().Phases.Collect != results.Partial {
		t.Errorf("%d trials, phases %+v, %v", len(trials), run.Record().Phases, err)
	}
	r.left(t)
}

// TestInterruptedBeforeShards: while the engine is asked, the second interrupt ends a run.
func TestInterruptedBeforeShards(t *testing.T) {
	r := newRig(t, shardtest.Options{})
	r.openEngine = func(ctx context.Context, _ string) (backends.Backend, error) {
		r.signals <- os.Interrupt
		<-drained(ctx)
		r.signals <- os.Interrupt
		<-ctx.Done()
		return nil, errors.New("the engine hangs")
	}
	if status := r.do("run", "-c", "eval.json", "--script", "default"); status != report.ExitInterrupted || r.stderr.String() != "berth: interrupted\n" {
		t.Errorf("exit status %d:\n%s", status, r.stderr)
	}
}

// hanging is an engine that answers nobody.
type hanging struct {
	backends.Backend
	asked func()
}

func (h hanging) Info(ctx context.Context) (backends.Info, error) {
	h.asked()
	<-ctx.Done()
	return backends.Info{}, context.Cause(ctx)
}

func (h hanging) Close() error { return nil }

// TestInterruptedWhileAsking: with no shard yet there's nothing to drain, so the first interrupt ends it.
func TestInterruptedWhileAsking(t *testing.T) {
	for _, args := range [][]string{{"run", "-c", "eval.json", "--script", "default"}, {"canary", "-c", "app.json"}} {
		r := newRig(t, shardtest.Options{})
		r.write(t, "app.json", `{"name": "app", "datasets": ["./cases.json"], "client": "chatgpt", "variants": [{"name": "one", "model": "gpt-5.5"}]}`)
		r.openEngine = func(context.Context, string) (backends.Backend, error) {
			return hanging{asked: func() { r.signals <- os.Interrupt }}, nil
		}
		status := r.do(args...)
		if said := r.stderr.String(); status != report.ExitInterrupted || !strings.HasSuffix(said, "berth: interrupted before a shard was made\n") {
			t.Errorf("%s: exit status %d:\n%s", args[0], status, said)
		}
	}
}

// TestInterruptedCommand: where there's nothing to drain the first interrupt ends it.
func TestInterruptedCommand(t *testing.T) {
	for _, args := range [][]string{{"ps"}, {"sweep"}, {"runner", "setup", "podman", "-c", "eval.json"}} {
		r := newRig(t, shardtest.Options{})
		r.openEngine = func(ctx context.Context, _ string) (backends.Backend, error) {
			r.signals <- os.Interrupt
			<-ctx.Done()
			return nil, context.Canceled
		}
		if status := r.do(args...); status != report.ExitInterrupted || r.stderr.String() != "berth: interrupted\n" {
			t.Errorf("%v: exit status %d:\n%s", args, status, r.stderr)
		}
	}
}

func (r *rig) left(t *testing.T) {
	t.Helper()
	if list, err := r.engine.List(context.Background(), nil); err != nil || len(list) != 0 {
		t.Errorf("on the engine afterwards: %v, %v", list, err)
	}
}
