package rig

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
)

// envBin names a berth binary to test, with its workers and the stand-in's package beside it and the
// sample's overlay in a folder `overlay` there, as `make build` leaves them in bin. Without it they're
// built.
const envBin = "BERTH_BIN"

// Image is the tests' own, so that they never stand in the way of a user's.
const Image = "localhost/berth-e2e:test"

// Tools are what every test uses: binaries, an image that has the sample's MCP server, and the
// host's facts.
type Tools struct {
	Berth   string
	overlay string
	// Engine is what runs are on; Limits tells that it applies a shard's limits.
	Engine Engine
	Limits bool
}

var (
	Prepared    Tools
	prepare     = sync.OnceValue(setUp)
	temporaries []string
)

// Main runs a package's tests, and removes what they share.
func Main(m *testing.M) int {
	status := m.Run()
	for _, dir := range temporaries {
		os.RemoveAll(dir)
	}
	return status
}

// use gives the tools to a test that needs an engine, which then runs beside one other such test.
func use(t *testing.T) Tools {
	t.Helper()
	TakePlace(t)
	if err := prepare(); err != nil {
		t.Fatal(err)
	}
	return Prepared
}

// BerthBinary is for tests that need no engine.
func BerthBinary(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds berth: run without -short")
	}
	if err := binaries(); err != nil {
		t.Fatal(err)
	}
	return Prepared.Berth
}

// setUp makes the image, one package's tests at a time: the next has nothing to do.
func setUp() error {
	l, err := lock("e2e-berth.setup")
	if err != nil {
		return err
	}
	defer l.Close()
	if err := WithoutImage(); err != nil {
		return err
	}
	return Prepared.makeImage()
}

// WithoutImage prepares what a test needs that has an image of its own.
var WithoutImage = sync.OnceValue(func() error {
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
	Prepared.Engine, Prepared.Limits = Podman{}, enforces(info)
	return nil
})

// binaries finds or builds what is run, once.
var binaries = sync.OnceValue(func() error {
	if bin := os.Getenv(envBin); bin != "" {
		abs, err := filepath.Abs(bin)
		Prepared.Berth, Prepared.overlay = abs, filepath.Join(filepath.Dir(abs), "overlay")
		return err
	}
	dir, err := os.MkdirTemp("", "berth-e2e-")
	if err != nil {
		return err
	}
	temporaries = append(temporaries, dir)
	Prepared.Berth, Prepared.overlay = filepath.Join(dir, "berth"), filepath.Join(dir, "overlay")
	build := [][]string{{InModule("testdata/standin/package"), filepath.Join(dir, "chatgpt-standin.deb")}}
	for file, pkg := range map[string]string{
		"berth": InModule("cmd/berth"), "berth-worker-linux-" + Arch: InModule("cmd/berth-worker"),
		"overlay/opt/berth-sample/notes": InModule("testdata/mcp/notes"),
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

// Environment is this process's, less what would change a run: ways to a model, other temporary folders.
func Environment(add ...string) []string {
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

// InModule gives a file of this module by its path in there, from the folder of any of its packages.
func InModule(path string) string {
	up := "."
	for depth := 0; depth < 20; depth++ {
		if _, err := os.Stat(filepath.Join(up, "go.mod")); err == nil {
			break
		}
		up = filepath.Join(up, "..")
	}
	return "./" + filepath.Join(up, path)
}
