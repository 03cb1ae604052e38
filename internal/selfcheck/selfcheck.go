// Package selfcheck is how a shard proves its own protections and limits, from inside, before
// anything else runs in it: an engine's word for them isn't enough. The coordinator derives an
// Expect from the spec it asked for; the worker compares it with what the kernel says. It repairs
// nothing and decides nothing: what a failed check means is the worker's and the runner's.
package selfcheck

// Expect is what must be in force.
type Expect struct {
	UID           int      `json:"uid"`
	GID           int      `json:"gid"`
	ReadOnlyRoot  bool     `json:"readOnlyRoot"`
	NoCore        bool     `json:"noCore"`
	Network       string   `json:"network"` // none, engine
	Tmpfs         []Tmpfs  `json:"tmpfs"`
	Mounts        []Mount  `json:"mounts"`
	MaskedPaths   []string `json:"maskedPaths"`
	ReadonlyPaths []string `json:"readonlyPaths"`
	// MemoryBytes, Pids, CPUWeight: 0 isn't checked.
	MemoryBytes int64  `json:"memoryBytes"`
	Pids        int64  `json:"pids"`
	CPUWeight   uint64 `json:"cpuWeight"`
	// Env are the names of the variables that the shard's processes may have.
	Env []string `json:"env"`
	// Foreign are namespaces the shard must not be in, as OwnNamespaces gives the coordinator's.
	Foreign map[string]string `json:"foreign,omitempty"`
}

// Tmpfs is one mount that must be there, with exactly these properties.
type Tmpfs struct {
	Path    string   `json:"path"`
	Bytes   int64    `json:"bytes"`
	Mode    uint32   `json:"mode"` // permission bits with setuid, setgid and sticky, as in chmod(2)
	UID     int      `json:"uid"`
	GID     int      `json:"gid"`
	Options []string `json:"options"` // nosuid, nodev, noexec
}

// Mount is one of the kernel's file systems that must be there, with at least these options.
type Mount struct {
	Path    string   `json:"path"`
	Type    string   `json:"type"`
	Options []string `json:"options"` // ro, nosuid, nodev, noexec
}

// Report is the outcome; Protections and Limits each list every check, passed or not.
type Report struct {
	Protections []Check `json:"protections"`
	Limits      []Check `json:"limits"`
}

// Check is one comparison. Name is stable: it is what an error names ("no_new_privs",
// "seccomp:unshare", "mount:/home/berth:nosuid", "memory").
type Check struct {
	Name string `json:"name"`
	OK   bool   `json:"ok"`
	Want string `json:"want,omitempty"`
	Got  string `json:"got,omitempty"`
}

// Missing gives the names of the checks that failed.
func Missing(checks []Check) []string {
	var names []string
	for _, c := range checks {
		if !c.OK {
			names = append(names, c.Name)
		}
	}
	return names
}
