package containerd

import (
	"slices"

	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// callable are the architectures that a machine's programs call its kernel by. Not among amd64's is x32: kernels
// are built without it or have it switched off, and a filter that doesn't list it kills the thread that calls by
// it (libseccomp's action for an architecture that it wasn't told of).
var callable = map[string][]specs.Arch{
	"amd64": {specs.ArchX86_64, specs.ArchX86},
	"arm64": {specs.ArchAARCH64, specs.ArchARM},
}

// foreign are those that may be left out, where they aren't the machine's; of others nothing is known.
var foreign = []specs.Arch{specs.ArchX86_64, specs.ArchX86, specs.ArchX32, specs.ArchAARCH64, specs.ArchARM}

// forMachine leaves out the parts of a filter for what no program of the machine calls by: libseccomp compiles
// them with each start and each exec of runc, and takes longer for that than runc for all else.
func forMachine(filter *specs.LinuxSeccomp, arch string) *specs.LinuxSeccomp {
	own := callable[arch]
	if filter == nil || own == nil {
		return filter
	}
	f := *filter
	f.Architectures = slices.DeleteFunc(slices.Clone(f.Architectures), func(a specs.Arch) bool {
		return slices.Contains(foreign, a) && !slices.Contains(own, a)
	})
	return &f
}
