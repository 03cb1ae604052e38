//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/moby/profiles/seccomp"
	"github.com/opencontainers/runtime-spec/specs-go"
)

// arches are the names that moby's profile uses for amd64, arm64 and what runs beside them.
var arches = []string{"amd64", "x86", "x32", "arm64", "arm"}

// natives are the rows of moby's archMap for the two machines. One profile lists both families: a
// filter's part for an architecture that the kernel doesn't have never matches, and a system call
// allowed for one family only doesn't exist in the other.
var natives = []specs.Arch{specs.ArchX86_64, specs.ArchAARCH64}

// oldestKernel is what minKernel conditions are decided for; below it rootless overlay is missing.
var oldestKernel = seccomp.KernelVersion{Kernel: 5, Major: 11}

// generate gives the profile as indented JSON with a final newline.
func generate() ([]byte, error) {
	profile, err := resolve(seccomp.DefaultProfile())
	if err != nil {
		return nil, err
	}
	b, err := json.MarshalIndent(profile, "", "\t")
	return append(b, '\n'), err
}

func resolve(from *seccomp.Seccomp) (*specs.LinuxSeccomp, error) {
	to := &specs.LinuxSeccomp{DefaultAction: from.DefaultAction, DefaultErrnoRet: from.DefaultErrnoRet}
	for _, a := range from.ArchMap {
		if slices.Contains(natives, a.Arch) {
			to.Architectures = append(append(to.Architectures, a.Arch), a.SubArches...)
		}
	}
	for _, call := range from.Syscalls {
		in, err := applies(call)
		if err != nil {
			return nil, fmt.Errorf("%v: %w", call.Names, err)
		}
		if in {
			to.Syscalls = append(to.Syscalls, call.LinuxSyscall)
		}
	}
	return to, nil
}

// applies tells whether a rule is in force in a shard.
func applies(call *seccomp.Syscall) (bool, error) {
	if in := call.Includes; in != nil {
		newEnough, err := reached(in.MinKernel)
		if err != nil {
			return false, err
		}
		if len(in.Caps) > 0 || !newEnough || len(in.Arches) > 0 && !overlaps(in.Arches) {
			return false, nil
		}
	}
	if ex := call.Excludes; ex != nil {
		if overlaps(ex.Arches) || ex.MinKernel != nil {
			return false, fmt.Errorf("excludes %+v can't be decided for every shard", *ex)
		}
	}
	return true, nil
}

func overlaps(names []string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return slices.Contains(arches, n) })
}

// reached tells whether every kernel that berth supports is at least min.
func reached(min *seccomp.KernelVersion) (bool, error) {
	if min == nil {
		return true, nil
	}
	old := oldestKernel
	if min.Kernel > old.Kernel || min.Kernel == old.Kernel && min.Major > old.Major {
		return false, fmt.Errorf("minKernel %s can't be decided for every shard", min)
	}
	return true, nil
}
