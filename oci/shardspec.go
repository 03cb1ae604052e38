package oci

// Paths that every image of berth's has.
const (
	// WorkerPath is the worker's binary: PID 1, and what a channel is exec'd from.
	WorkerPath = "/usr/libexec/berth/berth-worker"
	// RunDir is the worker's tmpfs: control socket, tokens, bundle, results. 0700, noexec.
	RunDir = "/run/berth"
	// Home is the desktop user's.
	Home = "/home/berth"
	// UID and GID are the user's in the shard.
	UID = 1000
	GID = 1000
)

// ShardSpec is all that a run may choose about a shard. What isn't here can't be chosen: there is
// no field that adds a capability, a device, a bind mount or a right.
type ShardSpec struct {
	// Args is PID 1; default WorkerPath init.
	Args []string
	// Env is NAME=value, added to the fixed session environment; it can't override that. No secrets.
	Env []string
	// Hostname defaults to "berth".
	Hostname string
	// MemoryBytes limits memory, without swap; tmpfs and /dev/shm count. 0 means the default.
	MemoryBytes int64
	// Pids limits processes and threads; 0 means the default.
	Pids int64
	// CPUWeight is the cgroup v2 weight, 1 to 10000; 0 means the default of 100.
	CPUWeight uint64
	// HomeBytes and TmpBytes are the sizes of those tmpfs; 0 means the default.
	HomeBytes int64
	TmpBytes  int64
	// WritableRoot gives up the read-only root file system, for apps that need it.
	WritableRoot bool
}
