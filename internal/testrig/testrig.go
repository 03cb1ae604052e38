// Package testrig gives tests the real things: an engine, the probe binary. It skips a test, with
// what to do about it, where one can't be had.
package testrig

import (
	"os"
	"os/exec"
	"runtime"
	"testing"

	"github.com/berth-run/berth/backends/podman"
)

// EnvProbe and EnvWorker name binaries that are already built.
const (
	EnvProbe  = "BERTH_TEST_PROBE"
	EnvWorker = "BERTH_TEST_WORKER"
)

// Podman connects to this user's rootless Podman; it's closed with the test.
func Podman(t testing.TB) *podman.Backend {
	t.Helper()
	NeedRootless(t)
	if _, err := exec.LookPath("podman"); err != nil {
		t.Skip("no podman: install it (Debian: `apt install podman`)")
	}
	b, err := podman.New(t.Context(), podman.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("closing Podman: %v", err)
		}
	})
	return b
}

// NeedRootless skips where no rootless engine is to be used.
func NeedRootless(t testing.TB) {
	t.Helper()
	switch {
	case testing.Short():
		t.Skip("needs a container engine: run without -short")
	case runtime.GOOS != "linux":
		t.Skip("needs rootless Podman on Linux")
	case os.Geteuid() == 0:
		t.Skip("needs an unprivileged user: run `scripts/rootless go test ./...` or `make test`")
	}
}

// Probe gives a static probe binary for this machine's architecture.
func Probe(t testing.TB) string {
	t.Helper()
	if p := os.Getenv(EnvProbe); p != "" {
		return p
	}
	return build(t, "backends/backendtest/probe/cmd/probe")
}

// Worker gives the real worker for this machine's architecture.
func Worker(t testing.TB) string {
	t.Helper()
	if p := os.Getenv(EnvWorker); p != "" {
		return p
	}
	return build(t, "cmd/berth-worker")
}
