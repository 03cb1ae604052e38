package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/berth-run/berth/internal/owner"
	"github.com/berth-run/berth/internal/plan"
	"github.com/berth-run/berth/internal/runner"
)

// metricMemory is the most memory (RSS) that `berth run` itself had, in MiB; metricShards how many shards
// it had at once.
const (
	metricMemory = "memory"
	metricShards = "shards"
)

// thinks is how long the script's model takes, so that all shards are there at once.
const thinks = 20 * time.Second

// runMemory runs an eval in n shards, and looks at berth's own process meanwhile.
func runMemory(ctx context.Context, r *rig, n int) (times, error) {
	dir, err := os.MkdirTemp("", "berth-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := writeSpread(dir, n); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(filepath.Dir(self), "berth"), "run", "--config", filepath.Join(dir, "eval.json"),
		"--runner", r.info.Name, "--script", filepath.Join(dir, "script.json"), "--output-dir", filepath.Join(dir, "out"), "--no-report",
		"--runner-option", fmt.Sprintf("shards=%d", n), "--runner-option", "memory=512m", "--runner-option", "limits="+runner.LimitsBestEffort)
	cmd.Env = append(os.Environ(), r.environment...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	var over atomic.Bool
	watched := make(chan times, 1)
	go func() { watched <- r.watchRun(ctx, cmd.Process.Pid, &over) }()
	err = cmd.Wait()
	over.Store(true)
	t := <-watched
	if err != nil {
		err = fmt.Errorf("berth run: %w: %s", err, said.String())
	}
	return t, err
}

// watchRun looks until the run is over.
func (r *rig) watchRun(ctx context.Context, pid int, over *atomic.Bool) times {
	var most, shards float64
	for !over.Load() {
		if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)); err == nil {
			most = max(most, float64(kib(string(b), "VmHWM:"))/(1<<20))
		}
		if list, err := r.engine.List(ctx, map[string]string{owner.LabelRun: ""}); err == nil {
			shards = max(shards, float64(len(list)))
		}
		time.Sleep(100 * time.Millisecond)
	}
	return times{metricMemory: sample{most}, metricShards: sample{shards}}
}

// writeSpread writes an eval with one case for each of n shards, and the script that answers it.
func writeSpread(dir string, n int) error {
	var cases []string
	for shard := range n {
		for i := 0; ; i++ {
			if id := fmt.Sprintf("case-%d-%d", shard, i); plan.ShardOf(id, n) == shard {
				cases = append(cases, fmt.Sprintf(`{"id": %q, "input": "say done", "assertions": {"containsText": "done"}}`, id))
				break
			}
		}
	}
	files := map[string]string{
		"eval.json": `{"name": "memory", "datasets": ["./cases.json"], "client": "berth/client/codex",
  "variants": [{"name": "v", "model": "gpt-5.5"}], "redactStoredResponses": false}`,
		"cases.json":  `{"name": "cases", "cases": [` + strings.Join(cases, ",\n") + `]}`,
		"script.json": fmt.Sprintf(`{"models": ["gpt-5.5"], "rules": [{"steps": [{"text": "done", "delayMs": %d}]}]}`, thinks.Milliseconds()),
	}
	var err error
	for name, text := range files {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	return err
}
