package oci_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/runtime-spec/specs-go"
	"pgregory.net/rapid"

	"github.com/berth-run/berth/oci"
)

// shardSpecs draws what a user may ask for: half of them sane, so that there's a spec to look at, the
// others with anything in any field.
func shardSpecs(t *rapid.T) oci.ShardSpec {
	if rapid.Bool().Draw(t, "sane") {
		return saneSpecs(t)
	}
	bytes := rapid.OneOf(rapid.Just(int64(0)), rapid.Int64(), mebibytes(1, 1<<20))
	env := rapid.OneOf(rapid.StringMatching(`[A-Z_]{1,12}=[ -~]{0,20}`), rapid.String(),
		rapid.SampledFrom([]string{"PATH=/x", "HOME=/", "LD_PRELOAD=/tmp/x.so", "A=1\x00PATH=/x", "XDG_RUNTIME_DIR=/tmp"}))
	return oci.ShardSpec{
		Args:         rapid.SliceOfN(rapid.OneOf(rapid.Just("/bin/sh"), rapid.String()), 0, 4).Draw(t, "Args"),
		Env:          rapid.SliceOfN(env, 0, 4).Draw(t, "Env"),
		Hostname:     rapid.OneOf(rapid.Just(""), rapid.StringMatching(`[a-z0-9-]{1,70}`), rapid.String()).Draw(t, "Hostname"),
		MemoryBytes:  bytes.Draw(t, "MemoryBytes"),
		Pids:         rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(1, 1<<16), rapid.Int64()).Draw(t, "Pids"),
		CPUWeight:    rapid.OneOf(rapid.Uint64Range(0, 10001), rapid.Uint64()).Draw(t, "CPUWeight"),
		HomeBytes:    bytes.Draw(t, "HomeBytes"),
		TmpBytes:     bytes.Draw(t, "TmpBytes"),
		WritableRoot: rapid.Bool().Draw(t, "WritableRoot"),
	}
}

func saneSpecs(t *rapid.T) oci.ShardSpec {
	args := rapid.Map(rapid.SliceOfN(rapid.StringMatching(`[ -~]{0,20}`), 0, 3), func(rest []string) []string { return append([]string{"/bin/sh"}, rest...) })
	name := func(kv string) string { n, _, _ := strings.Cut(kv, "="); return n }
	return oci.ShardSpec{
		Args:         args.Draw(t, "Args"),
		Env:          rapid.SliceOfNDistinct(rapid.StringMatching(`X_[A-Z_]{1,12}=[ -~]{0,20}`), 0, 4, name).Draw(t, "Env"),
		Hostname:     rapid.StringMatching(`[a-z0-9]{1,63}`).Draw(t, "Hostname"),
		MemoryBytes:  mebibytes(128, 1<<20).Draw(t, "MemoryBytes"),
		Pids:         rapid.Int64Range(oci.MinPids, 1<<16).Draw(t, "Pids"),
		CPUWeight:    rapid.Uint64Range(0, 10000).Draw(t, "CPUWeight"),
		HomeBytes:    mebibytes(1, 1<<20).Draw(t, "HomeBytes"),
		TmpBytes:     mebibytes(1, 1<<20).Draw(t, "TmpBytes"),
		WritableRoot: rapid.Bool().Draw(t, "WritableRoot"),
	}
}

func mebibytes(lo, hi int64) *rapid.Generator[int64] {
	return rapid.Map(rapid.Int64Range(lo, hi), func(n int64) int64 { return n << 20 })
}

func TestNoShardSpecLoosensAProtection(t *testing.T) {
	made := 0
	rapid.Check(t, func(t *rapid.T) {
		asked := shardSpecs(t)
		got, err := asked.Spec()
		if err != nil {
			if !errors.Is(err, oci.ErrInvalid) {
				t.Fatalf("%v isn't ErrInvalid", err)
			}
			return
		}
		made++
		if gone := loosened(got, asked); len(gone) > 0 {
			t.Fatalf("%+v loosens %v", asked, gone)
		}
	})
	if made == 0 {
		t.Error("no drawn ShardSpec was valid: nothing was tested")
	}
}

func TestSpecsShareNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		asked := oci.ShardSpec{WritableRoot: rapid.Bool().Draw(t, "WritableRoot"), Env: []string{"A=1"}}
		first, err := asked.Spec()
		if err != nil {
			t.Fatal(err)
		}
		first.Linux.MaskedPaths[0] = "/x"
		first.Linux.ReadonlyPaths[0] = "/x"
		first.Process.Env[0] = "PATH=/x"
		first.Linux.Seccomp.Syscalls = nil
		first.Mounts[0].Options[0] = "suid"
		second, err := asked.Spec()
		if err != nil {
			t.Fatal(err)
		}
		if gone := loosened(second, asked); len(gone) > 0 {
			t.Fatalf("a changed spec loosens the next one: %v", gone)
		}
	})
}

// TestPredicateSeesEachLoosening keeps the property test honest: take one protection out and it is
// the one that is named.
func TestPredicateSeesEachLoosening(t *testing.T) {
	for want, loosen := range map[string]func(*specs.Spec){
		"user":              func(s *specs.Spec) { s.Process.User.AdditionalGids = []uint32{0} },
		"no capabilities":   func(s *specs.Spec) { s.Process.Capabilities.Bounding = []string{"CAP_CHOWN"} },
		"no new privileges": func(s *specs.Spec) { s.Process.NoNewPrivileges = false },
		"no core dumps":     func(s *specs.Spec) { s.Process.Rlimits = nil },
		"read-only root":    func(s *specs.Spec) { s.Root.Readonly = false },
		"namespaces":        func(s *specs.Spec) { s.Linux.Namespaces[1].Path = "/proc/1/ns/ipc" },
		"mounts":            func(s *specs.Spec) { s.Mounts = append(s.Mounts, specs.Mount{Destination: "/host", Type: "bind"}) },
		"masked paths":      func(s *specs.Spec) { s.Linux.MaskedPaths = s.Linux.MaskedPaths[:3] },
		"read-only paths":   func(s *specs.Spec) { s.Linux.ReadonlyPaths = s.Linux.ReadonlyPaths[1:] },
		"seccomp":           func(s *specs.Spec) { s.Linux.Seccomp.DefaultAction = "SCMP_ACT_ALLOW" },
		"no devices":        func(s *specs.Spec) { s.Linux.Devices = []specs.LinuxDevice{{Path: "/dev/kvm"}} },
		"memory":            func(s *specs.Spec) { s.Linux.Resources.Memory.Swap = nil },
		"pids":              func(s *specs.Spec) { s.Linux.Resources.Pids = nil },
		"no hooks":          func(s *specs.Spec) { s.Hooks = &specs.Hooks{} },
		"no sysctls":        func(s *specs.Spec) { s.Linux.Sysctl = map[string]string{"kernel.domainname": "x"} },
		"no other limits":   func(s *specs.Spec) { s.Linux.Resources.Unified = map[string]string{"memory.max": "max"} },
		"environment":       func(s *specs.Spec) { s.Process.Env = append(s.Process.Env, "PATH=/x") },
		"no annotations":    func(s *specs.Spec) { s.Annotations = map[string]string{"run.oci.keep_original_groups": "1"} },
	} {
		spec, err := oci.ShardSpec{}.Spec()
		if err != nil {
			t.Fatal(err)
		}
		loosen(spec)
		if got := loosened(spec, oci.ShardSpec{}); !slices.Equal(got, []string{want}) {
			t.Errorf("%s taken out: %v", want, got)
		}
	}
}
