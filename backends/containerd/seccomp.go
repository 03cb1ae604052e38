package containerd

import (
	"slices"

	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// families are the architectures that a kernel takes system calls of, by that of the machine.
var families = map[string][]specs.Arch{
	"amd64": {specs.ArchX86_64, specs.ArchX86, specs.ArchX32},
	"arm64": {specs.ArchAARCH64, specs.ArchARM},
}

// forMachine leaves out the parts of a filter for another machine's family, which no call can match: libseccomp
// compiles them with each start and each exec of runc, and takes longer for that than runc for all else.
func forMachine(filter *specs.LinuxSeccomp, arch string) *specs.LinuxSeccomp {
	own := families[arch]
	if filter == nil || own == nil {
		return filter
	}
	f := *filter
	f.Architectures = slices.DeleteFunc(slices.Clone(f.Architectures), func(a specs.Arch) bool {
		return inFamily(a) && !slices.Contains(own, a)
	})
	return &f
}

// inFamily tells whether an architecture is of one of the families; of another nothing is said.
func inFamily(a specs.Arch) bool {
	for _, f := range families {
		if slices.Contains(f, a) {
			return true
		}
	}
	return false
}
