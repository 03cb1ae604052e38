package podman

import specs "github.com/opencontainers/runtime-spec/specs-go"

// createRequest is the part of libpod's create request (specgen.SpecGenerator) that shards use. Keys
// that 4.3 doesn't know are ignored by it; each is here only as a second lock, or for what newer
// versions do by default. What isn't `omitempty` is said so that containers.conf can't say otherwise.
type createRequest struct {
	Name       string   `json:"name"`
	Image      string   `json:"image"`
	Entrypoint []string `json:"entrypoint"`
	Command    []string `json:"command,omitempty"`
	WorkDir    string   `json:"work_dir"`
	Terminal   bool     `json:"terminal"`
	Init       bool     `json:"init"`
	Remove     bool     `json:"remove"` // never: its exit status would go with it (podman#25479)

	// Env is complete: nothing of the image's, the engine's or its proxies' is added.
	Env         map[string]string `json:"env"`
	UnsetEnvAll bool              `json:"unsetenvall"`
	EnvHost     bool              `json:"env_host"`
	HTTPProxy   bool              `json:"httpproxy"`

	Hostname      string            `json:"hostname"`
	Labels        map[string]string `json:"labels"`
	Annotations   map[string]string `json:"annotations,omitempty"`
	Systemd       string            `json:"systemd"`
	SdNotifyMode  string            `json:"sdnotifyMode"`
	RestartPolicy string            `json:"restart_policy"`
	Log           logConfig         `json:"log_configuration"`

	User            string   `json:"user"`
	Umask           string   `json:"umask,omitempty"`
	Groups          []string `json:"groups"`
	Passwd          bool     `json:"manage_password"`
	CapDrop         []string `json:"cap_drop"`
	CapAdd          []string `json:"cap_add"`
	NoNewPrivileges bool     `json:"no_new_privileges"`
	Privileged      bool     `json:"privileged"`

	SeccompPolicy   string   `json:"seccomp_policy"`
	ApparmorProfile string   `json:"apparmor_profile,omitempty"`
	Mask            []string `json:"mask"`
	Unmask          []string `json:"unmask"`

	ReadOnly          bool          `json:"read_only_filesystem"`
	ReadWriteTmpfs    bool          `json:"read_write_tmpfs"`
	Mounts            []specs.Mount `json:"mounts"`
	ImageVolumes      string        `json:"image_volume_mode"`
	RootfsPropagation string        `json:"rootfs_propagation,omitempty"`
	// Volatile spares the syncs of a file system that is thrown away.
	Volatile bool `json:"volatile"`

	PidNS    namespace `json:"pidns"`
	UtsNS    namespace `json:"utsns"`
	IpcNS    namespace `json:"ipcns"`
	CgroupNS namespace `json:"cgroupns"`
	UserNS   namespace `json:"userns"`
	NetNS    namespace `json:"netns"`

	BaseHostsFile string `json:"base_hosts_file,omitempty"`

	Sysctl      map[string]string     `json:"sysctl,omitempty"`
	Resources   *specs.LinuxResources `json:"resource_limits,omitempty"`
	Rlimits     []specs.POSIXRlimit   `json:"r_limits"`
	OOMScoreAdj *int                  `json:"oom_score_adj,omitempty"`
}

type logConfig struct {
	Driver string `json:"driver"`
	Size   int64  `json:"size"`
}

type namespace struct {
	Mode string `json:"nsmode"`
}

const (
	nsPrivate = "private"
	nsHost    = "host"
	nsNone    = "none"
	nsDefault = "default"
)

// logBytes bounds the log of PID 1, which is for people (`podman logs` of a kept shard).
const logBytes = 1 << 20

// newRequest says what is the same for every shard.
func newRequest() createRequest {
	private := namespace{nsPrivate}
	return createRequest{
		UnsetEnvAll:   true,
		Systemd:       "false",
		SdNotifyMode:  "ignore",
		RestartPolicy: "no",
		Log:           logConfig{Driver: "k8s-file", Size: logBytes},
		CapDrop:       []string{"ALL"},
		SeccompPolicy: "image",
		ImageVolumes:  "ignore",
		Volatile:      true,
		PidNS:         private,
		UtsNS:         private,
		IpcNS:         private,
		CgroupNS:      private,
		// The engine's own namespace: rootless, that is the user's plain mapping. keep-id would re-own
		// the whole image at the first start (podman#25087).
		UserNS: namespace{nsHost},
	}
}
