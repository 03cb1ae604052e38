package oci_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/opencontainers/runtime-spec/specs-go"

	"github.com/berth-run/berth/oci"
)

// loosened names every protection that a spec lacks. It is written from the design's list and
// shares nothing with the code that makes specs.
func loosened(s *specs.Spec, asked oci.ShardSpec) []string {
	var gone []string
	for name, ok := range map[string]bool{
		"user":              s.Process.User.UID == 1000 && s.Process.User.GID == 1000 && len(s.Process.User.AdditionalGids) == 0,
		"no capabilities":   noCapabilities(s.Process.Capabilities),
		"no new privileges": s.Process.NoNewPrivileges,
		"no core dumps":     onlyNoCore(s.Process.Rlimits),
		"read-only root":    s.Root.Readonly || asked.WritableRoot,
		"namespaces":        ownNamespaces(s.Linux.Namespaces),
		"mounts":            onlyOwnMounts(s.Mounts),
		"masked paths":      hides(s.Linux.MaskedPaths, "/proc/kcore /proc/keys /proc/acpi /proc/scsi /proc/timer_list /sys/firmware"),
		"read-only paths":   hides(s.Linux.ReadonlyPaths, "/proc/sys /proc/sysrq-trigger /proc/irq /proc/bus /proc/fs"),
		"seccomp":           sameProfile(s.Linux.Seccomp),
		"no devices":        len(s.Linux.Devices) == 0 && deniesDevices(s.Linux.Resources.Devices),
		"memory":            memoryWithoutSwap(s.Linux.Resources.Memory),
		"pids":              s.Linux.Resources.Pids != nil && *s.Linux.Resources.Pids.Limit > 0,
		"no hooks":          s.Hooks == nil,
		"no sysctls":        len(s.Linux.Sysctl) == 0,
		"no other limits":   onlyWeight(s.Linux.Resources.Unified),
		"environment":       fixedEnv(s.Process.Env),
		"no annotations":    len(s.Annotations) == 0,
	} {
		if !ok {
			gone = append(gone, name)
		}
	}
	slices.Sort(gone)
	return gone
}

func noCapabilities(c *specs.LinuxCapabilities) bool {
	return c != nil && len(c.Bounding)+len(c.Effective)+len(c.Permitted)+len(c.Inheritable)+len(c.Ambient) == 0
}

func onlyNoCore(limits []specs.POSIXRlimit) bool {
	return slices.Equal(limits, []specs.POSIXRlimit{{Type: "RLIMIT_CORE"}})
}

func ownNamespaces(ns []specs.LinuxNamespace) bool {
	for _, t := range []specs.LinuxNamespaceType{"pid", "ipc", "uts", "mount", "network", "cgroup"} {
		if !slices.Contains(ns, specs.LinuxNamespace{Type: t}) {
			return false
		}
	}
	return true
}

// onlyOwnMounts wants kernel file systems only, each with its flags, and the users' tmpfs exact.
func onlyOwnMounts(mounts []specs.Mount) bool {
	want := map[string]string{
		"/proc":          "proc nosuid nodev noexec",
		"/dev":           "tmpfs nosuid",
		"/dev/pts":       "devpts nosuid noexec newinstance",
		"/dev/mqueue":    "mqueue nosuid nodev noexec",
		"/dev/shm":       "tmpfs nosuid nodev noexec mode=1777 size=536870912",
		"/sys":           "sysfs nosuid nodev noexec ro",
		"/sys/fs/cgroup": "cgroup nosuid nodev noexec ro",
		"/run/berth":     "tmpfs nosuid nodev noexec mode=0700 uid=1000 gid=1000 size=",
		"/home/berth":    "tmpfs nosuid nodev mode=0700 uid=1000 gid=1000 size=",
		"/tmp":           "tmpfs nosuid nodev mode=1777 uid=1000 gid=1000 size=",
		"/run/user/1000": "tmpfs nosuid nodev mode=0700 uid=1000 gid=1000 size=",
	}
	for _, m := range mounts {
		fields := strings.Fields(want[m.Destination])
		if len(fields) == 0 || m.Type != fields[0] {
			return false
		}
		for _, f := range fields[1:] {
			if !slices.ContainsFunc(m.Options, func(o string) bool { return o == f || strings.HasSuffix(f, "=") && strings.HasPrefix(o, f) }) {
				return false
			}
		}
		for _, o := range m.Options {
			if slices.Contains([]string{"suid", "dev", "bind", "rbind", "shared", "rshared", "rw"}, o) {
				return false
			}
		}
		delete(want, m.Destination)
	}
	return len(want) == 0
}

func hides(paths []string, all string) bool {
	for _, p := range strings.Fields(all) {
		if !slices.Contains(paths, p) {
			return false
		}
	}
	return true
}

func sameProfile(s *specs.LinuxSeccomp) bool {
	if s == nil || s.DefaultAction != "SCMP_ACT_ERRNO" {
		return false
	}
	b, err := json.Marshal(s)
	return err == nil && bytes.Equal(b, oci.SeccompProfile())
}

func deniesDevices(rules []specs.LinuxDeviceCgroup) bool {
	return len(rules) == 1 && !rules[0].Allow && rules[0].Access == "rwm" && rules[0].Type == "" && rules[0].Major == nil
}

func memoryWithoutSwap(m *specs.LinuxMemory) bool {
	return m != nil && m.Limit != nil && m.Swap != nil && *m.Limit > 0 && *m.Swap == *m.Limit
}

func onlyWeight(unified map[string]string) bool {
	_, ok := unified["cpu.weight"]
	return len(unified) == 0 || ok && len(unified) == 1
}

func fixedEnv(env []string) bool {
	for _, want := range []string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/home/berth", "LANG=C.UTF-8",
		"XDG_RUNTIME_DIR=/run/user/1000", "TMPDIR=/tmp", "DISPLAY=:0", "DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/1000/bus",
		"XDG_CONFIG_HOME=/home/berth/.config", "XDG_DATA_HOME=/home/berth/.local/share", "XDG_CACHE_HOME=/home/berth/.cache",
	} {
		name, _, _ := strings.Cut(want, "=")
		var got []string
		for _, kv := range env {
			if strings.HasPrefix(kv, name+"=") {
				got = append(got, kv)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint([]string{want}) {
			return false
		}
	}
	return true
}
