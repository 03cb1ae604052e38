package containerd

import (
	"slices"
	"strconv"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/oci"
)

// adapt gives the spec as the runtime gets it: c's own, and the three things that are the engine's. Of
// what c asks for nothing is taken away but limits whose controller isn't there, and nothing is said
// otherwise but what this runtime would take for less.
func (b *Backend) adapt(c backends.Config, id string) (*specs.Spec, error) {
	spec := *c.Spec
	linux := *c.Spec.Linux
	spec.Linux = &linux
	switch {
	case linux.CgroupsPath != "":
		return nil, invalid("shard %s: linux.cgroupsPath is the engine's to choose", c.Name)
	case len(linux.UIDMappings)+len(linux.GIDMappings) > 0:
		return nil, invalid("shard %s: the mapping of ids is the engine's to choose", c.Name)
	case slices.ContainsFunc(linux.Namespaces, func(n specs.LinuxNamespace) bool { return n.Path != "" || n.Type == specs.UserNamespace }):
		return nil, invalid("shard %s: a namespace is somebody else's, or the engine's to choose", c.Name)
	}
	if b.ids != nil {
		linux.UIDMappings, linux.GIDMappings = b.ids.mappings()
		linux.Namespaces = append(slices.Clone(linux.Namespaces), specs.LinuxNamespace{Type: specs.UserNamespace})
	}
	linux.CgroupsPath = b.groups.path(id)
	linux.Seccomp = forMachine(linux.Seccomp, b.info.Arch)
	if linux.Resources != nil {
		var err error
		if linux.Resources, err = b.groups.apply(*linux.Resources); err != nil {
			return nil, err
		}
	}
	return &spec, nil
}

// weightDefault of cgroup v2 is sharesDefault of v1.
const (
	weightDefault = 100
	sharesDefault = 1024
)

// apply leaves out what has no controller: runc would fail. The shard's self-check finds it.
func (l limits) apply(r specs.LinuxResources) (*specs.LinuxResources, error) {
	if !l.has("memory") {
		r.Memory = nil
	}
	if !l.has("pids") {
		r.Pids = nil
	}
	unified := r.Unified
	r.Unified = nil
	for key, value := range unified {
		if key != oci.CPUWeightKey {
			return nil, invalid("linux.resources.unified.%s isn't known", key)
		}
		weight, err := strconv.ParseUint(value, 10, 16)
		if err != nil || weight < 1 || weight > 10000 {
			return nil, invalid("linux.resources.unified.%s %q isn't from 1 to 10000", key, value)
		}
		switch {
		case !l.has("cpu"):
		case l.cgroup2:
			r.Unified = map[string]string{key: value}
		default:
			shares := max(2, weight*sharesDefault/weightDefault)
			r.CPU = &specs.LinuxCPU{Shares: &shares}
		}
	}
	return &r, nil
}
