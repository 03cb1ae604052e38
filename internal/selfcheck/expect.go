package selfcheck

import (
	"slices"
	"strconv"
	"strings"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// FromSpec gives what a shard made from spec, with the given backends.Config.Network, must find in
// force. Foreign is the caller's to fill.
func FromSpec(spec *specs.Spec, network string) Expect {
	e := Expect{
		UID:           int(spec.Process.User.UID),
		GID:           int(spec.Process.User.GID),
		ReadOnlyRoot:  spec.Root != nil && spec.Root.Readonly,
		NoCore:        forbidsCore(spec.Process.Rlimits),
		Network:       network,
		MaskedPaths:   slices.Clone(spec.Linux.MaskedPaths),
		ReadonlyPaths: slices.Clone(spec.Linux.ReadonlyPaths),
	}
	for _, v := range spec.Process.Env {
		name, _, _ := strings.Cut(v, "=")
		e.Env = append(e.Env, name)
	}
	for _, m := range spec.Mounts {
		// What is in /dev is the runtime's; its size and owner protect nothing.
		if m.Type == "tmpfs" && m.Destination != "/dev" {
			e.Tmpfs = append(e.Tmpfs, expectTmpfs(m))
		} else {
			e.Mounts = append(e.Mounts, Mount{Path: m.Destination, Type: m.Type, Options: flags(m.Options, "ro", "nosuid", "nodev", "noexec")})
		}
	}
	e.limits(spec.Linux.Resources)
	return e
}

func (e *Expect) limits(r *specs.LinuxResources) {
	if r == nil {
		return
	}
	if r.Memory != nil && r.Memory.Limit != nil {
		e.MemoryBytes = *r.Memory.Limit
	}
	if r.Pids != nil && r.Pids.Limit != nil {
		e.Pids = *r.Pids.Limit
	}
	if w, err := strconv.ParseUint(r.Unified["cpu.weight"], 10, 64); err == nil {
		e.CPUWeight = w
	}
}

func forbidsCore(limits []specs.POSIXRlimit) bool {
	return slices.ContainsFunc(limits, func(l specs.POSIXRlimit) bool { return l.Type == "RLIMIT_CORE" && l.Hard == 0 })
}

// expectTmpfs reads mount options; what isn't among them has the kernel's default.
func expectTmpfs(m specs.Mount) Tmpfs {
	t := Tmpfs{Path: m.Destination, Mode: 0o1777, Options: flags(m.Options, "nosuid", "nodev", "noexec")}
	for _, o := range m.Options {
		key, value, _ := strings.Cut(o, "=")
		switch key {
		case "size":
			t.Bytes, _ = strconv.ParseInt(value, 10, 64)
		case "mode":
			mode, _ := strconv.ParseUint(value, 8, 32)
			t.Mode = uint32(mode)
		case "uid":
			t.UID, _ = strconv.Atoi(value)
		case "gid":
			t.GID, _ = strconv.Atoi(value)
		}
	}
	return t
}

func flags(options []string, known ...string) []string {
	var in []string
	for _, k := range known {
		if slices.Contains(options, k) {
			in = append(in, k)
		}
	}
	return in
}
