package main

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/image"
	"github.com/berth-run/berth/internal/owner"
	"github.com/berth-run/berth/internal/shardtest"
	"github.com/berth-run/berth/internal/version"
	"github.com/berth-run/berth/oci"
)

func TestVersion(t *testing.T) {
	r := newRig(t, shardtest.Options{})
	if r.do("version") != 0 || r.stdout.String() != "berth "+version.Version+"\n" {
		t.Errorf("%s", r.stdout)
	}
}

// shard makes one on the engine, owned by this process or by one that is provably dead.
func (r *rig) shard(t *testing.T, name string, dead, keep bool) backends.Shard {
	t.Helper()
	self, err := owner.Self()
	if err != nil {
		t.Fatal(err)
	}
	if dead {
		self.PID, self.Start = 1<<30, "1"
	}
	spec, err := oci.ShardSpec{Args: []string{oci.WorkerPath, "init"}}.Spec()
	if err != nil {
		t.Fatal(err)
	}
	s, err := r.engine.Create(t.Context(), backends.Config{
		Name: name, Image: shardtest.Image, Network: backends.NetworkNone, Spec: spec,
		Labels: owner.Shard{Run: "run-of-" + name, Index: 1, Created: time.Now().Add(-time.Minute), Keep: keep, Owner: self}.Labels(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestPsAndSweep(t *testing.T) {
	r := newRig(t, shardtest.Options{})
	r.shard(t, "mine", false, false)
	r.shard(t, "dead", true, false)
	r.shard(t, "kept", true, true)
	if status := r.do("ps"); status != 0 {
		t.Fatalf("exit status %d:\n%s", status, r.stderr)
	}
	lines := strings.Split(strings.TrimSpace(r.stdout.String()), "\n")
	if len(lines) != 4 || strings.Join(strings.Fields(lines[0]), " ") != "CONTAINER RUN SHARD STATE AGE OWNER KEPT" {
		t.Fatalf("stdout:\n%s", r.stdout)
	}
	for _, l := range lines[1:] {
		f := strings.Fields(l)
		if f[2] != "2" || f[3] != "created" || (f[len(f)-1] == "true") != (f[1] == "run-of-kept") {
			t.Errorf("%q", l)
		}
	}

	r.stdout.Reset()
	if r.do("sweep", "--dry-run") != 0 || r.stdout.String() != "would remove dead of run run-of-dead\n" {
		t.Errorf("stdout %q, stderr %q", r.stdout, r.stderr)
	}
	r.stdout.Reset()
	if r.do("sweep") != 0 || r.stdout.String() != "removed dead of run run-of-dead\n" {
		t.Errorf("stdout %q, stderr %q", r.stdout, r.stderr)
	}
	r.stdout.Reset()
	r.stderr.Reset()
	if r.do("sweep") != 0 || r.stdout.String() != "" || r.stderr.String() != "no shard of a dead owner is here\n" {
		t.Errorf("stdout %q, stderr %q", r.stdout, r.stderr)
	}
	list, err := r.engine.List(t.Context(), nil)
	if err != nil || len(list) != 2 {
		t.Errorf("left: %v, %v", list, err)
	}
}

// TestGateway: it prints what to export, takes its token only, and ends with the first interrupt.
func TestGateway(t *testing.T) {
	r := newRig(t, shardtest.Options{})
	out, w := io.Pipe()
	r.stdout, r.app.stdout = nil, w
	status := make(chan int, 1)
	go func() { status <- r.do("gateway", "--listen", "127.0.0.1:0", "--token-file", "token", "--log", "log") }()
	lines := bufio.NewScanner(out)
	var got []string
	for range 2 {
		lines.Scan()
		got = append(got, lines.Text())
	}
	base, ok := strings.CutPrefix(got[0], "export OPENAI_BASE_URL=")
	if !ok || got[1] != "export MST_LLM_AUTH_COMMAND='cat token'" {
		t.Fatalf("printed %q", got)
	}
	token, err := os.ReadFile("token")
	if err != nil {
		t.Fatal(err)
	}
	for bearer, want := range map[string]int{strings.TrimSpace(string(token)): http.StatusOK, "another": http.StatusUnauthorized} {
		q, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/models", nil)
		q.Header.Set("Authorization", "Bearer "+bearer)
		resp, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("status %d, want %d", resp.StatusCode, want)
		}
	}
	r.signals <- os.Interrupt
	if got := <-status; got != 0 {
		t.Errorf("exit status %d: %s", got, r.stderr)
	}
	if log, err := os.ReadFile("log"); err != nil || strings.Count(string(log), "\n") < 2 {
		t.Errorf("log %q, %v", log, err)
	}
}

func TestGatewayRefuses(t *testing.T) {
	for args, want := range map[string]string{
		"--listen 0.0.0.0:0":               "loopback",
		"--listen nonsense":                "nonsense",
		"--log /nowhere/log":               "/nowhere/log",
		"--token-file /nowhere/token":      "/nowhere/",
		"--token-file . --listen 1.2.3.4:": ".",
	} {
		r := newRig(t, shardtest.Options{})
		if status := r.do(append([]string{"gateway"}, strings.Fields(args)...)...); status == 0 || !strings.Contains(r.stderr.String(), want) {
			t.Errorf("%s: exit status %d: %s", args, status, r.stderr)
		}
	}
}

func TestStepLines(t *testing.T) {
	for want, e := range map[string]image.Event{
		"rootfs trixie: already there": {Step: "rootfs", Detail: "trixie", Cached: true, Done: true},
		"codex: 1.5 MB of 80.0 MB":     {Step: "codex", Bytes: 1_500_000, Total: 80_000_000},
		"codex 0.1: 80.0 MB":           {Step: "codex", Detail: "0.1", Bytes: 80_000_000, Total: 80_000_000, Done: true},
		"worker":                       {Step: "worker", Done: true},
		"rootfs: 12.3 MB":              {Step: "rootfs", Bytes: 12_300_000},
	} {
		if got := stepLine(e); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	var out strings.Builder
	synctest.Test(t, func(*testing.T) {
		tell := steps(&out)
		tell(image.Event{Step: "codex", Bytes: 1})
		tell(image.Event{Step: "codex", Bytes: 2}) // too soon after the first
		tell(image.Event{Step: "codex", Bytes: 3_000_000, Done: true})
	})
	if want := "[berth] codex: 0.0 MB …\n[berth] codex: 3.0 MB\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}
