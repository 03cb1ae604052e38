package worker

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/codetest"
	"github.com/berth-run/berth/internal/shardproto"
	"github.com/berth-run/berth/session/client"
)

// startInCgroup is start in a cgroup of v2 with a limit; kills sets the kernel's count.
func startInCgroup(t *testing.T, f *fake, limit string) (b *bench, kills func(n string)) {
	t.Helper()
	dir := t.TempDir()
	write := func(file, text string) {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Error(err)
		}
	}
	write("memory.max", limit+"\n")
	kills = func(n string) { write("memory.events", "low 0\noom 3\noom_kill "+n+"\noom_group_kill 0\n") }
	kills("1")
	return start(t, f, func(o *Options) { o.Cgroup = dir }), kills
}

// TestOOMKillAtOpen: an app that doesn't fit may be killed before its first trial, and one that is ready all
// the same misses something.
func TestOOMKillAtOpen(t *testing.T) {
	tests := map[string]struct {
		err  error
		want string
	}{
		"fails": {code.Errorf(code.AppExited, "the app ended by itself (signal: killed)"), " (app_exited: the app ended by itself (signal: killed))"},
		"ready": {nil, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := &fake{}
			b, kills := startInCgroup(t, f, "671088640")
			f.opening = func(context.Context) error { kills("3"); return tt.err }
			b.collect(shardproto.Bundle{Batches: []shardproto.Batch{batch("a", "one")}})
			b.follow()
			got := b.result("0/0.json").Result
			codetest.Saw(t, got.FailureCode)
			want := "the shard's memory limit of 640 MiB was hit and 2 processes were killed before the first prompt; raise it with --runner-option memory=" + tt.want
			if got.FailureCode != code.OOMKilled || got.Error != want || !got.Infrastructure || got.Submitted {
				t.Errorf("%s: %s", got.FailureCode, got.Error)
			}
			if len(f.prompts) != 0 || f.closed != 1 && tt.err == nil {
				t.Errorf("prompts %q; closed %d times", f.prompts, f.closed)
			}
		})
	}
}

// TestOOMKill: what a trial came to while the kernel killed in its shard is nobody's outcome.
func TestOOMKill(t *testing.T) {
	const hit = "the shard's memory limit was hit and "
	tests := map[string]struct {
		kills string
		in    client.Result
		want  client.Result
	}{
		"none":           {"1", client.Result{FailureCode: code.AppExited, Error: "gone"}, client.Result{FailureCode: code.AppExited, Error: "gone"}},
		"failed by it":   {"2", client.Result{FailureCode: code.AppExited, Error: "gone"}, client.Result{FailureCode: code.OOMKilled, Infrastructure: true, Error: hit + "a process was killed in this trial; raise it with --runner-option memory= (app_exited: gone)"}},
		"in spite of it": {"3", client.Result{Submitted: true}, client.Result{FailureCode: code.OOMKilled, Infrastructure: true, Submitted: true, Error: hit + "2 processes were killed in this trial; raise it with --runner-option memory="}},
		"cancelled":      {"2", client.Result{FailureCode: code.Cancelled, Infrastructure: true, Error: "by Ctrl-C"}, client.Result{FailureCode: code.Cancelled, Infrastructure: true, Error: "by Ctrl-C"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := &fake{}
			b, kills := startInCgroup(t, f, "max")
			f.run = func(context.Context, client.Trial) client.Result { kills(tt.kills); return tt.in }
			b.collect(shardproto.Bundle{Batches: []shardproto.Batch{batch("a", "one")}})
			b.follow()
			got := b.result("0/0.json").Result
			if got.FailureCode != tt.want.FailureCode || got.Infrastructure != tt.want.Infrastructure || got.Submitted != tt.want.Submitted || got.Error != tt.want.Error {
				t.Errorf("%+v\nwant %+v", got, tt.want)
			}
			if _, noted := got.Metadata["oomKills"]; noted != (tt.kills != "1") {
				t.Errorf("noted: %v", got.Metadata["oomKills"])
			}
		})
	}
}

// TestOOMKillBetween: what the last trial left running is killed after its end. The next prompt isn't sent
// in such a shard.
func TestOOMKillBetween(t *testing.T) {
	f := &fake{}
	b, kills := startInCgroup(t, f, "max")
	b.collect(shardproto.Bundle{Batches: []shardproto.Batch{batch("a", "one", "two")}})
	b.next() // hello
	b.send(shardproto.Message{Type: shardproto.TypeGranted, Key: b.next().Key})
	if m := b.next(); m.Status != shardproto.StatusCollected {
		t.Errorf("%+v", m)
	}
	second := b.next()
	kills("2")
	b.send(shardproto.Message{Type: shardproto.TypeGranted, Key: second.Key})
	if m := b.next(); m.Status != shardproto.StatusInfra {
		t.Errorf("%+v", m)
	}
	got := b.result("0/1.json").Result
	if got.FailureCode != code.OOMKilled || got.Submitted || !strings.Contains(got.Error, "a process was killed before the prompt was sent") {
		t.Errorf("%+v", got)
	}
	if len(f.prompts) != 1 {
		t.Errorf("sent: %q", f.prompts)
	}
}

// TestMemoryOfCgroup: both versions have words of their own, and one has none for "no limit".
func TestMemoryOfCgroup(t *testing.T) {
	tests := map[string]struct {
		files        map[string]string
		kills, limit int
	}{
		"v2":           {map[string]string{"memory.events": "oom 9\noom_kill 3\noom_group_kill 0\n", "memory.max": "671088640\n"}, 3, 640 << 20},
		"v2, no limit": {map[string]string{"memory.events": "oom_kill 0\n", "memory.max": "max\n"}, 0, 0},
		"v1":           {map[string]string{"memory/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n", "memory/memory.limit_in_bytes": "671088640\n"}, 2, 640 << 20},
		"v1, no limit": {map[string]string{"memory/memory.oom_control": "oom_kill 0\n", "memory/memory.limit_in_bytes": "9223372036854771712\n"}, 0, 0},
		"none":         {nil, 0, 0},
	}
	for name, tt := range tests {
		m := memory{cgroup: t.TempDir()}
		if err := os.Mkdir(filepath.Join(m.cgroup, "memory"), 0o700); err != nil {
			t.Fatal(err)
		}
		for file, text := range tt.files {
			if err := os.WriteFile(filepath.Join(m.cgroup, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		kills, ok := m.kills()
		if limit := m.limit(); kills != tt.kills || limit != int64(tt.limit) || ok != (tt.files != nil) {
			t.Errorf("%s: %d killed (%t), limit %d", name, kills, ok, limit)
		}
	}
}
