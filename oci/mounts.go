package oci

import (
	"fmt"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// mounts are all the mounts of a shard beside its root; there is none from the host.
func (s ShardSpec) mounts() []specs.Mount {
	return append(systemMounts(),
		tmpfs(RunDir, "0700", RunBytes, "nosuid", "nodev", "noexec"),
		// Codex puts helper binaries into its home, and agents run what they build in /tmp.
		tmpfs(Home, "0700", s.HomeBytes, "nosuid", "nodev"),
		tmpfs("/tmp", "1777", s.TmpBytes, "nosuid", "nodev"),
		tmpfs(RuntimeDir, "0700", RuntimeDirBytes, "nosuid", "nodev"),
	)
}

// systemMounts are what runc and containerd give every container, with sysfs and cgroup read-only.
// devpts has no gid option: which ids are mapped is the backend's choice.
func systemMounts() []specs.Mount {
	return []specs.Mount{
		{Destination: "/proc", Type: "proc", Source: "proc", Options: []string{"nosuid", "noexec", "nodev"}},
		{Destination: "/dev", Type: "tmpfs", Source: "tmpfs", Options: []string{"nosuid", "strictatime", "mode=755", "size=65536k"}},
		{Destination: "/dev/pts", Type: "devpts", Source: "devpts", Options: []string{"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"}},
		{Destination: "/dev/mqueue", Type: "mqueue", Source: "mqueue", Options: []string{"nosuid", "noexec", "nodev"}},
		{Destination: "/dev/shm", Type: "tmpfs", Source: "shm", Options: []string{"nosuid", "noexec", "nodev", "mode=1777", fmt.Sprintf("size=%d", ShmBytes)}},
		{Destination: "/sys", Type: "sysfs", Source: "sysfs", Options: []string{"nosuid", "noexec", "nodev", "ro"}},
		{Destination: "/sys/fs/cgroup", Type: "cgroup", Source: "cgroup", Options: []string{"nosuid", "noexec", "nodev", "relatime", "ro"}},
	}
}

// tmpfs leaves nothing to a runtime's defaults: they differ in the mode (podman#20754).
func tmpfs(path, mode string, bytes int64, options ...string) specs.Mount {
	return specs.Mount{
		Destination: path,
		Type:        "tmpfs",
		Source:      "tmpfs",
		Options: append(options, "mode="+mode, fmt.Sprintf("size=%d", bytes),
			fmt.Sprintf("uid=%d", UID), fmt.Sprintf("gid=%d", GID)),
	}
}
