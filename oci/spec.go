package oci

import (
	"slices"
	"strconv"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// Spec makes the complete runtime spec of a shard, ErrInvalid when a field can't be had. Root.Path is
// "rootfs", to be replaced by whoever mounts the image.
//
// Three things are the backend's, because they differ by engine and not by shard: the id mapping
// (there is a new user namespace, or the engine runs in one), the path of the cgroup, and how the
// network namespace is joined to a network. What it can't carry over, it must refuse.
func (s ShardSpec) Spec() (*specs.Spec, error) {
	s = s.withDefaults()
	if err := s.validate(); err != nil {
		return nil, err
	}
	return &specs.Spec{
		Version:  specs.Version,
		Process:  s.process(),
		Root:     &specs.Root{Path: "rootfs", Readonly: !s.WritableRoot},
		Hostname: s.Hostname,
		Mounts:   s.mounts(),
		Linux:    s.linux(),
	}, nil
}

func (s ShardSpec) process() *specs.Process {
	umask := uint32(0o022)
	return &specs.Process{
		User: specs.User{UID: UID, GID: GID, Umask: &umask},
		Args: slices.Clone(s.Args),
		Env:  slices.Concat(sessionEnv, s.Env),
		Cwd:  "/",
		// Empty, not nil: a runtime that is told nothing may give defaults.
		Capabilities: &specs.LinuxCapabilities{
			Bounding: []string{}, Effective: []string{}, Inheritable: []string{}, Permitted: []string{}, Ambient: []string{},
		},
		NoNewPrivileges: true,
		// Only lowered: raising a limit above the machine's fails without CAP_SYS_RESOURCE. A core
		// dump would be written by the host's handler, with the tokens in it.
		Rlimits: []specs.POSIXRlimit{{Type: "RLIMIT_CORE", Soft: 0, Hard: 0}},
	}
}

func (s ShardSpec) linux() *specs.Linux {
	return &specs.Linux{
		Namespaces: []specs.LinuxNamespace{
			{Type: specs.PIDNamespace},
			{Type: specs.IPCNamespace},
			{Type: specs.UTSNamespace},
			{Type: specs.MountNamespace},
			{Type: specs.NetworkNamespace},
			{Type: specs.CgroupNamespace},
		},
		Resources: s.resources(),
		Seccomp:   linuxSeccomp(),
		// Recursive: runc takes "private" for the root alone, and a device that it binds from an engine's slave or
		// shared /dev would stay the slave of it.
		RootfsPropagation: "rprivate",
		MaskedPaths:       MaskedPaths(),
		ReadonlyPaths:     ReadonlyPaths(),
	}
}

// resources asks for the weight by its cgroup v2 name: the v1 shares that stand for it elsewhere
// are converted by two different formulas, by the runtime's version.
func (s ShardSpec) resources() *specs.LinuxResources {
	memory, swap, pids := s.MemoryBytes, s.MemoryBytes, s.Pids
	r := &specs.LinuxResources{
		Devices: []specs.LinuxDeviceCgroup{{Allow: false, Access: "rwm"}},
		// Swap is memory and swap together, so this allows none.
		Memory: &specs.LinuxMemory{Limit: &memory, Swap: &swap},
		Pids:   &specs.LinuxPids{Limit: &pids},
	}
	if s.CPUWeight != 0 {
		r.Unified = map[string]string{CPUWeightKey: strconv.FormatUint(s.CPUWeight, 10)}
	}
	return r
}

// CPUWeightKey is where Spec puts CPUWeight in Linux.Resources.Unified. On cgroup v1 a backend sets
// CPU.Shares to weight*1024/100 instead: v1's default of 1024 is v2's of 100.
const CPUWeightKey = "cpu.weight"
