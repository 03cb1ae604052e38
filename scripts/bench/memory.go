package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/internal/evalconfig"
	"github.com/berth-run/berth/internal/owner"
)

// kind is what a shard is measured with.
type kind struct {
	name, client, model string
	server              bool
}

var kinds = []kind{
	{"classic", evalconfig.ClientCodex, "gpt-5.5", false},
	{"classic, an MCP server", evalconfig.ClientCodex, "gpt-5.5", true},
	{"code mode", evalconfig.ClientCodex, "gpt-6-luna", false},
	{"code mode, an MCP server", evalconfig.ClientCodex, "gpt-6-luna", true},
	{"the desktop app (its stand-in)", evalconfig.ClientChatGPT, "gpt-5.5", false},
}

// turnHeld is how long the model keeps a turn waiting, so that there is one to be measured.
const turnHeld = 3 * time.Second

// benchMemory measures what a shard takes while Codex is in a turn, by itself or behind the app's window:
// the most that all of its processes together had, as PSS, and what its tmpfs held.
func benchMemory(ctx context.Context, r *rig, n rounds, w io.Writer) error {
	r.printHead(w, "memory", n)
	peaks := make([][]memory, len(kinds))
	ways := make([]way, len(kinds))
	for i, k := range kinds {
		ways[i] = way{k.name, func(ctx context.Context) (time.Duration, error) {
			m, err := r.memoryOf(ctx, k)
			peaks[i] = append(peaks[i], m)
			return 0, err
		}}
	}
	if _, err := n.alternate(ctx, ways...); err != nil {
		return err
	}
	t := table{head: []string{"MiB"}}
	for _, c := range memoryColumns {
		t.head = append(t.head, c.name)
	}
	for i, k := range kinds {
		row := []string{k.name}
		for _, c := range memoryColumns {
			var s sample
			for _, m := range peaks[i][n.warmup:] {
				s = append(s, float64(c.of(m))/(1<<20))
			}
			row = append(row, s.spread())
		}
		t.add(row...)
	}
	t.print(w)
	return nil
}

var memoryColumns = []struct {
	name string
	of   func(memory) int64
}{
	{"shard, PSS", memory.total},
	{"of that anonymous", func(m memory) int64 { return m.Anonymous }},
	{"Codex", func(m memory) int64 { return m.named("codex") }},
	{"MCP server", func(m memory) int64 { return m.named("notes") }},
	{"app", func(m memory) int64 { return m.named("chatgpt", "chromium", "chrome_crashpad") }},
	{"desktop", func(m memory) int64 {
		return m.named("Xvfb", "dbus-daemon", "gnome-keyring", "at-spi", "openbox")
	}},
	{"berth-worker", func(m memory) int64 { return m.named("berth-worker") }},
	{"tmpfs, besides", func(m memory) int64 { return m.Tmpfs }},
}

// memoryOf runs one trial and watches its shard.
func (r *rig) memoryOf(ctx context.Context, k kind) (memory, error) {
	dir, err := os.MkdirTemp("", "berth-bench-")
	if err != nil {
		return memory{}, err
	}
	defer os.RemoveAll(dir)
	config, script, err := writeEval(dir, k)
	if err != nil {
		return memory{}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ran := make(chan error, 1)
	go func() {
		err := r.berthRun(ctx, config, script, filepath.Join(dir, "results"))
		cancel()
		ran <- err
	}()
	m, err := r.watch(ctx)
	if rerr := <-ran; rerr != nil {
		err = rerr
	}
	return m, err
}

// writeEval makes an eval of one case whose turn is held.
func writeEval(dir string, k kind) (config, script string, err error) {
	steps := []any{map[string]any{"text": "done", "delayMs": turnHeld.Milliseconds()}}
	eval := map[string]any{"name": "memory", "datasets": []string{"./cases.json"}, "client": k.client, "model": k.model}
	if k.server {
		eval["servers"] = map[string]any{"notes": map[string]any{"transport": "stdio", "command": "/opt/berth-sample/notes", "inheritEnv": false}}
		call := map[string]any{"server": "notes", "tool": "search", "arguments": map[string]any{"query": "disk"}}
		steps = append([]any{map[string]any{"mcp": call}}, steps...)
	}
	files := map[string]any{
		"eval.json":   eval,
		"cases.json":  map[string]any{"name": "memory", "cases": []any{map[string]any{"id": "one", "input": "Look for the disk."}}},
		"script.json": map[string]any{"models": []string{k.model}, "rules": []any{map[string]any{"steps": steps}}},
	}
	for name, content := range files {
		b, merr := json.Marshal(content)
		err = errors.Join(err, merr, os.WriteFile(filepath.Join(dir, name), b, 0o600))
	}
	return filepath.Join(dir, "eval.json"), filepath.Join(dir, "script.json"), err
}

// watch finds the run's shard and samples it, as root of the engine's user namespace, until it ends.
func (r *rig) watch(ctx context.Context) (m memory, err error) {
	pid, err := r.awaitShard(ctx)
	if err != nil {
		return m, err
	}
	self, err := os.Executable()
	if err != nil {
		return m, err
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), "podman", "unshare", self, pssVerb, strconv.Itoa(pid))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &m)
	}
	return m, err
}

// awaitShard gives the pid, on this machine, of the first process of the one shard that runs.
func (r *rig) awaitShard(ctx context.Context) (int, error) {
	for {
		found, err := r.engine.List(ctx, map[string]string{owner.LabelRun: ""})
		if err != nil {
			return 0, err
		}
		for _, s := range found {
			if s.State != backends.StateRunning {
				continue
			}
			out, err := exec.CommandContext(ctx, "podman", "inspect", "--format", "{{.State.Pid}}", s.ID).Output()
			if err != nil {
				return 0, fmt.Errorf("podman inspect: %w", err)
			}
			var pid int
			_, err = fmt.Sscan(string(out), &pid)
			return pid, err
		}
		select {
		case <-ctx.Done():
			return 0, errors.New("the run ended before its shard was seen")
		case <-time.After(20 * time.Millisecond):
		}
	}
}
