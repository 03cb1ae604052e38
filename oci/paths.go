package oci

import "slices"

// maskedPaths are what moby and Podman hide of the host's kernel, both lists together.
var maskedPaths = []string{
	"/proc/acpi",
	"/proc/asound",
	"/proc/interrupts",
	"/proc/kcore",
	"/proc/keys",
	"/proc/latency_stats",
	"/proc/sched_debug",
	"/proc/scsi",
	"/proc/timer_list",
	"/proc/timer_stats",
	"/sys/dev/block",
	"/sys/devices/virtual/powercap",
	"/sys/firmware",
	"/sys/fs/selinux",
}

// readonlyPaths are the same in moby, Podman and containerd.
var readonlyPaths = []string{
	"/proc/bus",
	"/proc/fs",
	"/proc/irq",
	"/proc/sys",
	"/proc/sysrq-trigger",
}

// MaskedPaths gives the paths that can't be read in a shard.
func MaskedPaths() []string { return slices.Clone(maskedPaths) }

// ReadonlyPaths gives the paths under /proc that can't be written in a shard.
func ReadonlyPaths() []string { return slices.Clone(readonlyPaths) }
