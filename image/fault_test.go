package image

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// nothingHalf fails for a cache that holds anything but whole, named things.
func nothingHalf(t *testing.T, dir string) {
	t.Helper()
	for _, f := range cacheFiles(t, dir) {
		if strings.HasPrefix(f, "tmp/") || strings.HasPrefix(f, "blobs/") || strings.HasPrefix(f, "keys/") {
			t.Errorf("left behind: %s", f)
		}
	}
}

func TestBadDelivery(t *testing.T) {
	for what, tc := range map[string]struct {
		npm  string
		want error
		says string
	}{
		"cut short": {`head -c 100 "$TGZ" >"$DEST/probe-1.tgz"`, ErrIntegrity, "cut short or altered"},
		"altered":   {`cp "$TGZ" "$DEST/probe-1.tgz"; echo >>"$DEST/probe-1.tgz"`, ErrIntegrity, "the lock wants"},
		"empty":     {`: >"$DEST/probe-1.tgz"`, ErrIntegrity, "the lock wants"},
		"nothing":   {`true`, ErrFetch, "0 tarballs"},
		"refused":   {`echo "npm error code E404 at https://me:hunter2@mirror.invalid/x" >&2; echo "npm error more" >&2; exit 1`, ErrFetch, "E404"},
		"no space":  {`echo "npm error code ENOSPC" >&2; exit 1`, ErrNoSpace, "XDG_CACHE_HOME"},
		"killed":    {`kill -9 $$`, ErrFetch, "killed"},
	} {
		t.Run(what, func(t *testing.T) {
			p := newProbe(t, tc.npm)
			r, dir := p.recipe(t), t.TempDir()
			_, err := Build(t.Context(), r, Options{CacheDir: dir})
			if !errors.Is(err, tc.want) {
				t.Fatalf("got %v, want %v", err, tc.want)
			}
			if !strings.Contains(err.Error(), tc.says) || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %q, want one line with %q and no password", err, tc.says)
			}
			nothingHalf(t, dir)
			p.program(t, "npm", `while [ $# -gt 0 ]; do [ "$1" = --pack-destination ] && DEST=$2; shift; done`+"\n"+npmDelivers)
			mustBuild(t, r, Options{CacheDir: dir})
		})
	}
}

func TestPackageWithoutTheApp(t *testing.T) {
	p := newProbe(t, npmDelivers)
	clients["probe"].app.files["bin/missing"] = "opt/probe/bin/missing"
	r, dir := p.recipe(t), t.TempDir()
	if _, err := Build(t.Context(), r, Options{CacheDir: dir}); !errors.Is(err, ErrRecipe) || !strings.Contains(err.Error(), "bin/missing") {
		t.Errorf("got %v", err)
	}
	nothingHalf(t, dir)
}

// fifo makes a pipe with a name; opening one end waits for the other.
func fifo(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// await returns when a program has written to the fifo.
func await(t *testing.T, fifo string) {
	t.Helper()
	if _, err := os.ReadFile(fifo); err != nil {
		t.Error(err)
	}
}

// release writes a line for a program that reads the fifo, now or later.
func release(t *testing.T, fifo string) {
	t.Helper()
	f, err := os.OpenFile(fifo, os.O_RDWR, 0) // both ends: it doesn't wait
	if err != nil {
		t.Error(err)
		return
	}
	t.Cleanup(func() { f.Close() })
	if _, err := f.WriteString("go\n"); err != nil {
		t.Error(err)
	}
}

func TestCancelledFetch(t *testing.T) {
	started := fifo(t)
	p := newProbe(t, `echo half >"$DEST/probe-1.tgz"; echo >`+started+`; exec sleep 600`)
	r, dir := p.recipe(t), t.TempDir()
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("ctrl-c")
	go func() {
		await(t, started)
		cancel(stop)
	}()
	if _, err := Build(ctx, r, Options{CacheDir: dir}); !errors.Is(err, stop) {
		t.Errorf("got %v, want %v", err, stop)
	}
	nothingHalf(t, dir)
}

func TestBuildWaitsForAnother(t *testing.T) {
	p := newProbe(t, npmDelivers)
	r, dir := p.recipe(t), t.TempDir()
	first := mustBuild(t, r, Options{CacheDir: dir}) // holds the cache
	second, err := Build(t.Context(), r, Options{CacheDir: dir, Progress: func(e Event) {
		if e.Step == StepWait {
			if err := first.Close(); err != nil {
				t.Error(err)
			}
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if p.called(t) != 1 {
		t.Errorf("npm ran %d times", p.called(t))
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err = Build(ctx, r, Options{CacheDir: dir, Progress: func(e Event) { cancel() }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a wait that was cancelled gave %v", err)
	}
}

// TestMain is also the children's.
func TestMain(m *testing.M) {
	if run, ok := children[os.Getenv("BERTH_TEST_CHILD")]; ok {
		run()
		return
	}
	os.Exit(m.Run())
}

// children are builds that run in a process of their own.
var children = map[string]func(){"build": childBuild}

// child runs this test binary as one of TestMain's builds.
func child(t *testing.T, what string, env ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), append(env, "BERTH_TEST_CHILD="+what)...)
	cmd.Stderr = os.Stderr
	return cmd
}

// childBuild fetches the real client's package, with whatever npm is in PATH.
func childBuild() {
	r := Recipe{Client: "codex", Worker: os.Getenv("WORKER")}
	p, err := newPlan(r)
	if err != nil {
		panic(err)
	}
	c, err := openCache(context.Background(), os.Getenv("CACHE"), nil)
	if err != nil {
		panic(err)
	}
	b := &build{plan: p, cache: c}
	if _, err := b.app(context.Background()); err != nil {
		panic(err)
	}
}

func TestKilledBuild(t *testing.T) {
	started, held := fifo(t), fifo(t)
	p := newProbe(t, `echo half >"$DEST/probe-1.tgz"; echo >`+started+`; read x <`+held)
	r, dir := p.recipe(t), t.TempDir()
	cmd := child(t, "build", "CACHE="+dir, "WORKER="+workerFile(t))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, started)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	left := len(cacheFiles(t, dir))
	if left == 0 {
		t.Fatal("the killed build left nothing, so this proves nothing")
	}
	p.program(t, "npm", `while [ $# -gt 0 ]; do [ "$1" = --pack-destination ] && DEST=$2; shift; done`+"\n"+npmDelivers)
	// Its npm still writes there, so the cache is still locked.
	waited := false
	mustBuild(t, r, Options{CacheDir: dir, Progress: func(e Event) {
		if e.Step == StepWait {
			waited = true
			release(t, held)
		}
	}})
	if !waited {
		t.Error("the cache was taken from under the killed build's npm")
	}
	for _, f := range cacheFiles(t, dir) {
		if strings.HasPrefix(f, "tmp/") {
			t.Errorf("left behind: %s", f)
		}
	}
}
