package engines

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/berth-run/berth/internal/e2e/rig"
	"github.com/berth-run/berth/internal/testrig"
)

func TestMain(m *testing.M) { os.Exit(rig.Main(m)) }

type test struct {
	name string
	run  func(t *testing.T, tools rig.Tools)
}

// shared is for engines that several containers can share. A rootless containerd listens where only its own
// namespaces are.
var shared = test{"two PID namespaces", twoPIDNamespaces}

// tests are what every engine has to pass, one after the other.
var tests = []test{
	{"PID 1 killed", pid1Killed},
	{"worker killed", workerKilled},
	{"one shard of two killed", oneOfTwoKilled},
	{"Codex killed", codexKilled},
	{"channel killed", channelKilled},
	{"engine restarted", engineRestarted},
	{"engine stopped", engineStopped},
	{"coordinator killed", coordinatorKilled},
	{"coordinator killed anywhere", killedAnywhere},
	{"set-up killed at import", killedAtImport},
	{"dead man's switch", deadMansSwitch},
	{"side by side", sideBySide},
	{"keep=always", keepAlways},
	{"keep=failed", keepFailed},
	{"disk full at results", diskFullAtResults},
	{"memory limit hit", memoryLimitHit},
	{"memory filled with files", memoryFilled},
	{"tmpfs full", tmpfsFull},
	{"silence", silence},
}

// TestRootless runs the tests on both rootless engines, side by side, and compares the sample's results.
func TestRootless(t *testing.T) {
	testrig.NeedRootless(t)
	results := t.TempDir()
	t.Run("engines", func(t *testing.T) {
		t.Run("podman", func(t *testing.T) {
			t.Parallel()
			// It reads the whole image before it stores any of it. The first layer has room.
			t.Run("disk full at import", func(t *testing.T) { diskFullAtImport(t, rig.NewPodmanOnDisk(t, "300m")) })
			onEngine(t, rig.NewPodman(t), filepath.Join(results, "podman"), shared)
		})
		t.Run("containerd", func(t *testing.T) {
			t.Parallel()
			containerdFull(t, testrig.StartContainerdRootless)
			onEngine(t, rig.NewContainerd(t, testrig.StartContainerdRootless(t)), filepath.Join(results, "containerd"))
		})
	})
	t.Run("same results", func(t *testing.T) {
		same(t, filepath.Join(results, "podman"), filepath.Join(results, "containerd"), mayDiffer)
	})
}

// TestContainerdAsRoot runs them on an engine of root's, and compares with an ordinary user's Podman.
func TestContainerdAsRoot(t *testing.T) {
	testrig.NeedRoot(t)
	results := t.TempDir()
	containerdFull(t, testrig.StartContainerdAsRoot)
	onEngine(t, rig.NewContainerd(t, testrig.StartContainerdAsRoot(t)), filepath.Join(results, "containerd"), shared)
	t.Run("same results", func(t *testing.T) {
		userSample(t, filepath.Join(results, "podman"))
		same(t, filepath.Join(results, "podman"), filepath.Join(results, "containerd"), append(builtApart, mayDiffer...))
	})
}

// containerdFull has room for none of an image, and for its blobs but not for its file system.
func containerdFull(t *testing.T, start func(t testing.TB, options ...testrig.Option) *testrig.Containerd) {
	for name, size := range map[string]string{"disk full at import": "64m", "disk full at unpacking": "750m"} {
		t.Run(name, func(t *testing.T) { diskFullAtImport(t, rig.NewContainerd(t, start(t, testrig.OnDisk(size)))) })
	}
}

// onEngine runs all tests on an engine, with the sample first, whose results are moved to a folder. Every
// test leaves the engine as it was.
func onEngine(t *testing.T, e rig.Engine, results string, more ...test) {
	tools := rig.On(t, e)
	run := func(name string, test func(t *testing.T, tools rig.Tools)) {
		t.Run(name, func(t *testing.T) {
			test(t, tools)
			rig.NothingOn(t, e)
		})
	}
	run("sample", func(t *testing.T, tools rig.Tools) { runSample(t, tools, results) })
	for _, tt := range slices.Concat(tests, more) {
		run(tt.name, tt.run)
	}
	if mayClock() {
		run("clock set", clockSet)
	}
}
