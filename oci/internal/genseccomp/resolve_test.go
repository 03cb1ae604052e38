//go:build linux

package main

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/moby/profiles/seccomp"
	"github.com/opencontainers/runtime-spec/specs-go"

	"github.com/berth-run/berth/oci"
)

// TestEmbeddedProfileIsCurrent fails when moby's profile moved on or seccomp.json was edited.
func TestEmbeddedProfileIsCurrent(t *testing.T) {
	want, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../seccomp.json")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("oci/seccomp.json isn't what `go generate ./oci` makes (-want +got):\n%s", diff)
	}
}

// TestAgreesWithMoby compares with moby's own resolver, which decides for this machine only: what
// ours has beyond it must be the rules of the other architecture, by name.
func TestAgreesWithMoby(t *testing.T) {
	theirs, err := seccomp.GetDefaultProfile(&specs.Spec{Process: &specs.Process{Capabilities: &specs.LinuxCapabilities{}}})
	if err != nil {
		t.Fatal(err)
	}
	var ours specs.LinuxSeccomp
	if err := json.Unmarshal(oci.SeccompProfile(), &ours); err != nil {
		t.Fatal(err)
	}
	if ours.DefaultAction != theirs.DefaultAction || *ours.DefaultErrnoRet != *theirs.DefaultErrnoRet {
		t.Errorf("default is %s %d, want %s %d", ours.DefaultAction, *ours.DefaultErrnoRet, theirs.DefaultAction, *theirs.DefaultErrnoRet)
	}
	for _, a := range theirs.Architectures {
		if !slices.Contains(ours.Architectures, a) {
			t.Errorf("architecture %s is missing", a)
		}
	}
	extra := maps.Clone(rules(t, ours.Syscalls))
	for r, names := range rules(t, theirs.Syscalls) {
		if _, ok := extra[r]; !ok {
			t.Errorf("rule for %v is missing", names)
		}
		delete(extra, r)
	}
	foreign := []string{"arch_prctl", "modify_ldt", "arm_fadvise64_64", "arm_sync_file_range", "sync_file_range2", "breakpoint", "cacheflush", "set_tls"}
	for _, names := range extra {
		for _, n := range names {
			if !slices.Contains(foreign, n) {
				t.Errorf("%s is allowed beyond moby's profile", n)
			}
		}
	}
}

func rules(t *testing.T, calls []specs.LinuxSyscall) map[string][]string {
	t.Helper()
	m := map[string][]string{}
	for _, c := range calls {
		b, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		m[string(b)] = c.Names
	}
	return m
}

func TestUndecidableRules(t *testing.T) {
	for name, call := range map[string]*seccomp.Syscall{
		"excludes one of our architectures": {Excludes: &seccomp.Filter{Arches: []string{"arm64"}}},
		"excludes new kernels":              {Excludes: &seccomp.Filter{MinKernel: &seccomp.KernelVersion{Kernel: 5, Major: 1}}},
		"includes only newer kernels":       {Includes: &seccomp.Filter{MinKernel: &seccomp.KernelVersion{Kernel: 6, Major: 2}}},
	} {
		if _, err := resolve(&seccomp.Seccomp{Syscalls: []*seccomp.Syscall{call}}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestApplies(t *testing.T) {
	for name, tt := range map[string]struct {
		call seccomp.Syscall
		want bool
	}{
		"unconditional":              {want: true},
		"needs a capability":         {call: seccomp.Syscall{Includes: &seccomp.Filter{Caps: []string{"CAP_BPF"}}}},
		"excluded with a capability": {call: seccomp.Syscall{Excludes: &seccomp.Filter{Caps: []string{"CAP_SYS_ADMIN"}}}, want: true},
		"other architecture":         {call: seccomp.Syscall{Includes: &seccomp.Filter{Arches: []string{"s390x"}}}},
		"ours":                       {call: seccomp.Syscall{Includes: &seccomp.Filter{Arches: []string{"arm"}}}, want: true},
		"old kernel":                 {call: seccomp.Syscall{Includes: &seccomp.Filter{MinKernel: &seccomp.KernelVersion{Kernel: 4, Major: 8}}}, want: true},
	} {
		if got, err := applies(&tt.call); err != nil || got != tt.want {
			t.Errorf("%s: %v, %v; want %v", name, got, err, tt.want)
		}
	}
}
