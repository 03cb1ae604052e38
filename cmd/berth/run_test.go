package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/backends/fake"
	"github.com/berth-run/berth/internal/report"
	"github.com/berth-run/berth/internal/results"
	"github.com/berth-run/berth/internal/selfcheck"
	"github.com/berth-run/berth/internal/shardtest"
	"github.com/berth-run/berth/session/client"
)

// TestUsage: a command line, config or dataset that can't be meant is status 2 and one line that
// says what to do.
func TestUsage(t *testing.T) {
	tests := map[string]struct {
		args []string
		want string
	}{
		"unknown command":      {[]string{"rnu"}, `unknown command "rnu"`},
		"unknown flag":         {[]string{"run", "--nope"}, "unknown flag: --nope; see `berth run --help`"},
		"renamed flag":         {[]string{"run", "--manifest", "x"}, "use --config"},
		"renamed, with value":  {[]string{"run", "--manifest=x"}, "use --config"},
		"renamed shorthand":    {[]string{"run", "-m", "x"}, "use --config"},
		"renamed arm":          {[]string{"run", "--arm", "x"}, "use --variant"},
		"plugins":              {[]string{"run", "--plugins", "x"}, "mst's JavaScript extensions"},
		"no config":            {[]string{"run"}, "--config is needed"},
		"config isn't there":   {[]string{"run", "-c", "none.json"}, "none.json"},
		"several problems":     {[]string{"run", "-c", "cases.json"}, "\nberth: cases.json:1"},
		"no such run":          {[]string{"run", "-c", "eval.json", "--script", "default", "--resume", "abcdef"}, "no such run"},
		"bad trials":           {[]string{"run", "-c", "eval.json", "--trials", "many"}, `"many"`},
		"no trials":            {[]string{"run", "-c", "eval.json", "--trials", "0"}, "--trials must be 1 or more, got 0"},
		"minus one case":       {[]string{"run", "-c", "eval.json", "--max-cases=-1"}, "--max-cases must be 1 or more, got -1"},
		"bad option":           {[]string{"run", "-c", "eval.json", "--runner-option", "shards=0"}, "shards=0: want a whole number from 1 to 256"},
		"unknown option":       {[]string{"run", "-c", "eval.json", "--runner-option", "shard=2"}, "known are shards, keep"},
		"option without value": {[]string{"run", "-c", "eval.json", "--runner-option", "shards"}, "key=value"},
		"option twice":         {[]string{"run", "-c", "eval.json", "--runner-option", "shards=2", "--env-option", "shards=3"}, "given twice"},
		"unknown runner":       {[]string{"run", "-c", "eval.json", "--runner", "docker"}, `unknown runner "docker"`},
		"unknown case":         {[]string{"run", "-c", "eval.json", "--case", "z"}, `case "z" doesn't exist`},
		"unknown variant":      {[]string{"run", "-c", "eval.json", "--variant", "z"}, `variant "z" doesn't exist`},
		"argument":             {[]string{"run", "-c", "eval.json", "more"}, "see `berth run --help`"},
		"no script":            {[]string{"run", "-c", "eval.json", "--script", "none.json"}, "none.json"},
		"bad script":           {[]string{"run", "-c", "eval.json", "--script", "cases.json"}, "cases.json"},
		"log without script":   {[]string{"run", "-c", "eval.json", "--gateway-log", "log"}, "there is no --script"},
		"no secrets":           {[]string{"run", "-c", "eval.json", "--script", "default", "--secrets-file", "none"}, "secrets file"},
		"set-up of what":       {[]string{"runner", "setup", "-c", "eval.json"}, "see `berth runner setup --help`"},
		"set-up of docker":     {[]string{"runner", "setup", "docker", "-c", "eval.json"}, `unknown runner "docker"`},
		"set-up of a suite":    {[]string{"runner", "setup", "podman", "-c", "eval.json", "--runner-option", "suite=Sid!"}, `"Sid!" is no Debian suite`},
		"an app for Codex":     {[]string{"runner", "setup", "podman", "-c", "eval.json", "--runner-option", "app=x.deb"}, "app"},
		"set-up, no config":    {[]string{"runner", "setup", "podman"}, "--config is needed"},
		"ps of docker":         {[]string{"ps", "--runner", "docker"}, `unknown runner "docker"`},
		"gateway for all":      {[]string{"gateway", "--script", "default", "--listen", "0.0.0.0:0"}, "listens on the loopback only"},
		"gateway script":       {[]string{"gateway", "--script", "none.json"}, "none.json"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, shardtest.Options{})
			status := r.do(tt.args...)
			stderr := r.stderr.String()
			if want := report.ExitUsage; status != want {
				t.Errorf("exit status %d, want %d", status, want)
			}
			if !strings.HasPrefix(stderr, "berth: ") || !strings.Contains(stderr, tt.want) {
				t.Errorf("stderr %q, want %q in it", stderr, tt.want)
			}
			for line := range strings.Lines(stderr) {
				if !strings.HasPrefix(line, "berth: ") {
					t.Errorf("on stderr: %q", line)
				}
			}
			if n := strings.Count(stderr, "\n"); n != 1 && name != "several problems" || r.stdout.String() != "" {
				t.Errorf("%d lines:\n%s%s", n, r.stdout, stderr)
			}
			if _, err := os.Stat(".mcp-test-results"); err == nil {
				t.Error("a folder was made")
			}
		})
	}
}

func TestRunPrints(t *testing.T) {
	r := newRig(t, shardtest.Options{})
	if status := r.do("run", "--config", "eval.json", "--script", "default", "--runner-option", "shards=2"); status != report.ExitPassed {
		t.Fatalf("exit status %d:\n%s", status, r.stderr)
	}
	for _, want := range []string{"test: complete in ", "4/4 passed", "Report:  .mcp-test-results/test/runs/"} {
		if !strings.Contains(r.stdout.String(), want) {
			t.Errorf("no %q on stdout:\n%s", want, r.stdout)
		}
	}
	for line := range strings.Lines(r.stderr.String()) {
		if !strings.HasPrefix(line, "[berth] ") {
			t.Errorf("on stderr: %q", line)
		}
	}
	if latest, err := results.ReadLatest(".mcp-test-results/test"); err != nil || latest.RunID == "" {
		t.Errorf("latest: %+v, %v", latest, err)
	}
}

func TestRunStatus(t *testing.T) {
	none := shardtest.Options{Fake: fake.Options{OnCreate: func(backends.Config) error { return backends.ErrUnavailable }}}
	limits := shardtest.Options{SelfCheck: func(selfcheck.Expect) selfcheck.Report {
		return selfcheck.Report{Limits: []selfcheck.Check{{Name: "memory"}}}
	}}
	answer := func(text string) func(*rig) {
		return func(r *rig) {
			r.engine.App.Run = func(context.Context, client.Batch, client.Trial) client.Result { return shardtest.Answer(text) }
		}
	}
	tests := map[string]struct {
		engine shardtest.Options
		change func(*rig)
		args   []string
		want   int
		stderr string
	}{
		"passed":       {shardtest.Options{}, nil, nil, report.ExitPassed, ""},
		"failed":       {shardtest.Options{}, answer("alpha"), nil, report.ExitFailed, ""},
		"no grade":     {shardtest.Options{}, answer("alpha"), []string{"--no-grade"}, report.ExitPassed, ""},
		"no engine":    {none, nil, nil, report.ExitSetup, "berth: shard_not_created: "},
		"no limits":    {limits, nil, nil, report.ExitSetup, "berth: limits_not_enforced: "},
		"no image":     {shardtest.Options{}, nil, []string{"--runner-option", "image=none"}, report.ExitSetup, "berth: image not ready: "},
		"best effort":  {limits, nil, []string{"--runner-option", "limits=best-effort"}, report.ExitPassed, ""},
		"a shard dies": {shardtest.Options{}, killed, nil, report.ExitInfra, "stopped: shard_lost: "},
		"folder gone":  {shardtest.Options{}, folderGone, nil, report.ExitInfra, "berth: the run's folder couldn't be completed"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, tt.engine)
			if tt.change != nil {
				tt.change(r)
			}
			if got := r.do(append([]string{"run", "-c", "eval.json", "--script", "default"}, tt.args...)...); got != tt.want {
				t.Errorf("exit status %d, want %d:\n%s", got, tt.want, r.stderr)
			}
			if n := strings.Count(r.stderr.String(), tt.stderr); n != 1 && tt.stderr != "" {
				t.Errorf("%q is on stderr %d times:\n%s", tt.stderr, n, r.stderr)
			}
			if tt.want == report.ExitSetup && r.stdout.String() != "" {
				t.Errorf("stdout:\n%s", r.stdout)
			}
		})
	}
}

func killed(r *rig) {
	r.engine.App.Run = func(ctx context.Context, _ client.Batch, _ client.Trial) client.Result {
		go r.engine.Kill(r.engine.IDs()[0])
		<-ctx.Done()
		return shardtest.Cancelled(ctx)
	}
}

func folderGone(r *rig) {
	r.engine.App.Run = func(context.Context, client.Batch, client.Trial) client.Result {
		os.RemoveAll(".mcp-test-results")
		os.WriteFile(".mcp-test-results", nil, 0o600)
		return shardtest.Answer("ok")
	}
}

// TestSelection: several values at once, as mst takes them, or the flag several times.
func TestSelection(t *testing.T) {
	tests := map[string]struct {
		args []string
		want []string
	}{
		"all":             {nil, []string{"alpha", "beta", "alpha", "beta"}},
		"a variant":       {[]string{"--variant", "two"}, []string{"alpha", "beta"}},
		"both variants":   {[]string{"--variant", "two", "one", "--case", "a"}, []string{"alpha", "alpha"}},
		"repeated":        {[]string{"--case", "a", "--case", "b", "--variant", "one"}, []string{"alpha", "beta"}},
		"with equals":     {[]string{"--case=b", "--variant=one"}, []string{"beta"}},
		"tag":             {[]string{"--filter-tag", "x", "--variant", "one"}, []string{"alpha"}},
		"max and trials":  {[]string{"--max-cases", "1", "--trials", "3", "--variant", "one"}, []string{"alpha", "alpha", "alpha"}},
		"older env names": {[]string{"--env", "podman", "--env-option", "shards=1", "--case", "b"}, []string{"beta", "beta"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, shardtest.Options{})
			if status := r.do(append([]string{"run", "-c", "eval.json", "--script", "default"}, tt.args...)...); status != 0 {
				t.Fatalf("exit status %d:\n%s", status, r.stderr)
			}
			var got []string
			for _, tr := range r.engine.App.Trials() {
				got = append(got, tr.Prompt)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("ran %q, want %q", got, tt.want)
			}
		})
	}
}

func TestDryRun(t *testing.T) {
	r := newRig(t, shardtest.Options{Fake: fake.Options{OnCreate: func(backends.Config) error { t.Error("a shard is created"); return nil }}})
	if status := r.do("run", "-c", "eval.json", "--dry-run", "--case", "b"); status != 0 {
		t.Fatalf("exit status %d:\n%s", status, r.stderr)
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(r.stdout.String()), &got); err != nil {
		t.Fatalf("%v in\n%s", err, r.stdout)
	}
	want := map[string]any{
		"name": "test", "outputDir": ".mcp-test-results/test", "datasets": []any{map[string]any{"name": "cases", "cases": 2.0}},
		"variants": []any{"one", "two"}, "partial": true, "selection": map[string]any{"cases": []any{"b"}},
	}
	for k, v := range want {
		g, _ := json.Marshal(got[k])
		w, _ := json.Marshal(v)
		if string(g) != string(w) {
			t.Errorf("%s: %s, want %s", k, g, w)
		}
	}
	if len(got) != len(want) || r.stderr.String() != "" {
		t.Errorf("keys %v; stderr %q", got, r.stderr)
	}
	entries, err := os.ReadDir(".")
	if err != nil || len(entries) != 3 {
		t.Errorf("files afterwards: %v, %v", entries, err)
	}
}

// TestFolders: where results go.
func TestFolders(t *testing.T) {
	for want, args := range map[string][]string{
		".mcp-test-results/test": nil,
		"stored/test":            {"--store", "stored"},
		"here":                   {"--output-dir", "here"},
	} {
		r := newRig(t, shardtest.Options{})
		if status := r.do(append([]string{"run", "-c", "eval.json", "--script", "default", "--no-report"}, args...)...); status != 0 {
			t.Fatalf("exit status %d:\n%s", status, r.stderr)
		}
		runs, err := os.ReadDir(filepath.Join(want, "runs"))
		if err != nil || len(runs) != 1 {
			t.Fatalf("%v, %v", runs, err)
		}
		if _, err := os.Stat(filepath.Join(want, "runs", runs[0].Name(), "report")); err == nil {
			t.Error("--no-report wrote one")
		}
	}
}
