package podman

import (
	"slices"
	"strconv"

	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// cpuWeight is the cgroup v2 file by which a spec asks for a CPU weight; on v1 its 100 are 1024 shares.
const (
	cpuWeight     = "cpu.weight"
	weightDefault = 100
	sharesDefault = 1024
)

// takeResources passes limits on. Podman leaves out memory and pids by itself, with a warning, where
// their controllers aren't delegated; the weight it would hand to the runtime, which fails, so that
// one is left out here.
func (r *createRequest) takeResources(res specs.LinuxResources, lim limits) error {
	if !slices.EqualFunc(res.Devices, denyAll, sameRule) {
		return invalid("linux.resources.devices isn't the one rule that denies all")
	}
	out := specs.LinuxResources{Memory: res.Memory, Pids: res.Pids}
	if m := res.Memory; m != nil {
		rest := *m
		rest.Limit, rest.Swap = nil, nil
		if err := leftover("linux.resources.memory", rest); err != nil {
			return err
		}
	}
	for key, value := range res.Unified {
		if key != cpuWeight {
			return invalid("linux.resources.unified.%s isn't known", key)
		}
		if err := addWeight(&out, value, lim); err != nil {
			return err
		}
	}
	r.Resources = &out
	res.Devices, res.Memory, res.Pids, res.Unified = nil, nil, nil, nil
	return leftover("linux.resources", res)
}

func addWeight(out *specs.LinuxResources, value string, lim limits) error {
	weight, err := strconv.ParseUint(value, 10, 16)
	if err != nil || weight < 1 || weight > 10000 {
		return invalid("linux.resources.unified.%s %q isn't from 1 to 10000", cpuWeight, value)
	}
	switch {
	case !lim.controllers["cpu"]:
	case lim.cgroup2:
		out.Unified = map[string]string{cpuWeight: value}
	default:
		shares := max(2, weight*sharesDefault/weightDefault)
		out.CPU = &specs.LinuxCPU{Shares: &shares}
	}
	return nil
}

// denyAll is the rule for devices that Podman itself begins with. Rootless, there are no rules: the
// container has only the devices of its /dev, and can make none.
var denyAll = []specs.LinuxDeviceCgroup{{Allow: false, Access: "rwm"}}

func sameRule(a, b specs.LinuxDeviceCgroup) bool {
	return a.Allow == b.Allow && a.Access == b.Access && a.Type == b.Type && a.Major == nil && a.Minor == nil
}
