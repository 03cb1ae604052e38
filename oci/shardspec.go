package oci

// Paths that every image of berth's has.
const (
	// WorkerPath is the worker's binary: PID 1, and what a channel is exec'd from.
	WorkerPath = "/usr/libexec/berth/berth-worker"
	// RunDir is the worker's tmpfs: control socket, tokens, bundle, results. 0700, noexec.
	RunDir = "/run/berth"
	// Home is the desktop user's.
	Home = "/home/berth"
	// RuntimeDir is the user's XDG_RUNTIME_DIR: the sockets of the session.
	RuntimeDir = "/run/user/1000"
	// UID and GID are the user's in the shard.
	UID = 1000
	GID = 1000
)

// Defaults of a ShardSpec. Codex's app-server takes about 200 MiB (PSS) and its commands come on
// top.
const (
	DefaultMemoryBytes = 2 << 30
	DefaultPids        = 1024
	DefaultHostname    = "berth"
)

// Shares of the memory that the home and /tmp may hold by default: together 3/4, so that a full one is told as
// that and not as memory that ran out.
const (
	homeShare = 2
	tmpShare  = 4
)

// Sizes of the tmpfs that can't be chosen, in bytes. What is written to them counts as memory.
const (
	RunBytes        = 256 << 20
	RuntimeDirBytes = 64 << 20
	ShmBytes        = 512 << 20
)

// Least values that a shard starts with.
const (
	MinMemoryBytes = 128 << 20
	MinPids        = 64
	MinTmpfsBytes  = 1 << 20
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
	// CPUWeight is the cgroup v2 weight, 1 to 10000. 0 asks for none: the kernel's own default of
	// 100 holds, which needs no cpu controller.
	CPUWeight uint64
	// HomeBytes and TmpBytes are the sizes of those tmpfs; 0 means 1/2 and 1/4 of the memory.
	HomeBytes int64
	TmpBytes  int64
	// WritableRoot gives up the read-only root file system, for apps that need it.
	WritableRoot bool
}

func (s ShardSpec) withDefaults() ShardSpec {
	if len(s.Args) == 0 {
		s.Args = []string{WorkerPath, "init"}
	}
	if s.Hostname == "" {
		s.Hostname = DefaultHostname
	}
	s.MemoryBytes = orDefault(s.MemoryBytes, DefaultMemoryBytes)
	s.Pids = orDefault(s.Pids, DefaultPids)
	s.HomeBytes = orDefault(s.HomeBytes, s.MemoryBytes/homeShare)
	s.TmpBytes = orDefault(s.TmpBytes, s.MemoryBytes/tmpShare)
	return s
}

// Memory is the limit that Spec sets, in bytes.
func (s ShardSpec) Memory() int64 { return s.withDefaults().MemoryBytes }

func orDefault(n, def int64) int64 {
	if n == 0 {
		return def
	}
	return n
}
