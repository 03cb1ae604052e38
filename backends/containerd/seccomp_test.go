package containerd

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/berth-run/berth/oci"
)

// TestForMachine: a filter loses what the machine's kernel can't be called by, and nothing else.
func TestForMachine(t *testing.T) {
	x86 := []specs.Arch{specs.ArchX86_64, specs.ArchX86}
	arm := []specs.Arch{specs.ArchAARCH64, specs.ArchARM}
	other := []specs.Arch{specs.ArchS390X}
	all := slices.Concat(x86, []specs.Arch{specs.ArchX32}, arm, other)
	for arch, want := range map[string][]specs.Arch{"amd64": append(x86, other...), "arm64": append(arm, other...), "riscv64": all, "": all} {
		s, err := oci.ShardSpec{}.Spec()
		if err != nil {
			t.Fatal(err)
		}
		whole := *s.Linux.Seccomp
		whole.Architectures = all
		before := len(all)
		got := forMachine(&whole, arch)
		if diff := cmp.Diff(want, got.Architectures); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", arch, diff)
		}
		rest := *got
		rest.Architectures = all
		if diff := cmp.Diff(whole, rest); diff != "" || len(whole.Architectures) != before {
			t.Errorf("%s: something else was changed:\n%s", arch, diff)
		}
	}
	if forMachine(nil, "amd64") != nil {
		t.Error("no filter became one")
	}
}

// TestEveryMachineKeepsItsOwn: the profile has all that is callable, so no machine's own is left without rules.
func TestEveryMachineKeepsItsOwn(t *testing.T) {
	s, err := oci.ShardSpec{}.Spec()
	if err != nil {
		t.Fatal(err)
	}
	for arch, own := range callable {
		if diff := cmp.Diff(own, forMachine(s.Linux.Seccomp, arch).Architectures); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", arch, diff)
		}
	}
}
