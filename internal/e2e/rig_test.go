package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/berth-run/berth/backends/podman"
	"github.com/berth-run/berth/internal/testrig"
)

// envBin names a berth binary to test, with its workers and the stand-in's package beside it and the
// sample's overlay in a folder `overlay` there, as `make build` leaves them in bin. Without it they're
// built.
const envBin = "BERTH_BIN"

// image is the tests' own, so that they never stand in the way of a user's.
const image = "localhost/berth-e2e:test"

// tools are what every test uses: binaries, an image that has the sample's MCP server, and the
// host's facts.
type tools struct {
	berth   string
	overlay string
	// limits tells that this host's engine applies a shard's limits.
	limits bool
}

var (
	prepared    tools
	prepare     = sync.OnceValue(setUp)
	temporaries []string
	// places bounds the tests that have shards up at a time: more make engines slow, not tests fast.
	places = make(chan struct{}, 2)
)

func TestMain(m *testing.M) {
	serveWiki()
	status := m.Run()
	for _, dir := range temporaries {
		os.RemoveAll(dir)
	}
	os.Exit(status)
}

// use gives the tools to a test that needs an engine, which then runs beside one other such test.
func use(t *testing.T) tools {
	t.Helper()
	takePlace(t)
	if err := prepare(); err != nil {
		t.Fatal(err)
	}
	return prepared
}

// takePlace lets a test have shards up beside one other such test.
func takePlace(t *testing.T) {
	t.Helper()
	testrig.NeedRootless(t)
	t.Parallel()
	places <- struct{}{}
	t.Cleanup(func() { <-places })
}

// useAlone is use for a test that has the engine for itself: every run of berth's sweeps away what it
// is to find.
func useAlone(t *testing.T) tools {
	t.Helper()
	testrig.NeedRootless(t)
	if err := prepare(); err != nil {
		t.Fatal(err)
	}
	return prepared
}

// berthBinary is for tests that need no engine.
func berthBinary(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds berth: run without -short")
	}
	if err := binaries(); err != nil {
		t.Fatal(err)
	}
	return prepared.berth
}

func setUp() error {
	if err := withoutImage(); err != nil {
		return err
	}
	cmd := exec.Command(prepared.berth, "runner", "setup", "podman", "--config", "../../testdata/sample/codex.json",
		"--runner-option", "overlay="+prepared.overlay, "--name", image)
	cmd.Env = environment()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	return nil
}

// withoutImage prepares what a test needs that has an image of its own.
var withoutImage = sync.OnceValue(func() error {
	if err := binaries(); err != nil {
		return err
	}
	engine, err := podman.New(context.Background(), podman.Options{})
	if err != nil {
		return err
	}
	defer engine.Close()
	info, err := engine.Info(context.Background())
	if err != nil {
		return err
	}
	c := info.Capabilities
	prepared.limits = c.MemoryLimit && c.PidsLimit && c.CPUWeight
	return nil
})

// binaries finds or builds what is run, once.
var binaries = sync.OnceValue(func() error {
	if bin := os.Getenv(envBin); bin != "" {
		abs, err := filepath.Abs(bin)
		prepared.berth, prepared.overlay = abs, filepath.Join(filepath.Dir(abs), "overlay")
		return err
	}
	dir, err := os.MkdirTemp("", "berth-e2e-")
	if err != nil {
		return err
	}
	temporaries = append(temporaries, dir)
	prepared.berth, prepared.overlay = filepath.Join(dir, "berth"), filepath.Join(dir, "overlay")
	build := [][]string{{"../../testdata/standin/package", filepath.Join(dir, "chatgpt-standin.deb")}}
	for file, pkg := range map[string]string{
		"berth": "../../cmd/berth", "berth-worker-linux-" + arch: "../../cmd/berth-worker",
		"overlay/opt/berth-sample/notes": "../../testdata/mcp/notes",
	} {
		build = append(build, []string{"go", "build", "-buildvcs=false", "-trimpath", "-o", filepath.Join(dir, file), pkg})
	}
	for _, args := range build {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", cmd, err, out)
		}
	}
	return nil
})

// environment is this process's, less what would change a run: ways to a model, other temporary folders.
func environment(add ...string) []string {
	env := slices.DeleteFunc(os.Environ(), func(e string) bool {
		for _, prefix := range []string{"OPENAI_", "MST_", "TMPDIR=", "BERTH_"} {
			if strings.HasPrefix(e, prefix) {
				return true
			}
		}
		return false
	})
	return append(env, add...)
}
