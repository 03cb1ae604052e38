package podman

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/oci"
)

func shardConfig(t *testing.T) backends.Config {
	t.Helper()
	spec, err := oci.ShardSpec{MemoryBytes: 1 << 30, Pids: 100, CPUWeight: 200}.Spec()
	if err != nil {
		t.Fatal(err)
	}
	return backends.Config{Name: "a", Image: "i", Spec: spec, Network: backends.NetworkNone, Labels: map[string]string{"k": "v"}}
}

var allLimits = limits{cgroup2: true, controllers: map[string]bool{"cpu": true, "memory": true, "pids": true}}

func TestTranslate(t *testing.T) {
	r, err := translate(shardConfig(t), allLimits)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	private := map[string]any{"nsmode": "private"}
	for key, want := range map[string]any{
		"user": "1000:1000", "umask": "0022", "cap_drop": []any{"ALL"}, "cap_add": nil, "groups": nil,
		"no_new_privileges": true, "privileged": false, "read_only_filesystem": true, "read_write_tmpfs": false,
		"seccomp_policy": "image", "unmask": nil, "hostname": "berth", "work_dir": "/",
		"entrypoint": []any{oci.WorkerPath}, "command": []any{"init"},
		"init": false, "remove": false, "restart_policy": "no", "systemd": "false", "sdnotifyMode": "ignore",
		"unsetenvall": true, "env_host": false, "httpproxy": false, "manage_password": false,
		"image_volume_mode": "ignore", "shm_size": nil, "rootfs_propagation": "rprivate",
		"pidns": private, "utsns": private, "ipcns": private, "cgroupns": private,
		"userns": map[string]any{"nsmode": "host"}, "netns": map[string]any{"nsmode": "none"},
		"r_limits": []any{map[string]any{"type": "core", "hard": 0.0, "soft": 0.0}},
		"resource_limits": map[string]any{
			"memory":  map[string]any{"limit": float64(1 << 30), "swap": float64(1 << 30)},
			"pids":    map[string]any{"limit": 100.0},
			"unified": map[string]any{"cpu.weight": "200"},
		},
		"labels":            map[string]any{"k": "v"},
		"log_configuration": map[string]any{"driver": "k8s-file", "size": float64(logBytes)},
	} {
		if d := cmp.Diff(want, got[key]); d != "" {
			t.Errorf("%s: -want +got\n%s", key, d)
		}
	}
	for _, p := range oci.MaskedPaths() {
		if !slices.Contains(r.Mask, p) {
			t.Errorf("%s isn't masked", p)
		}
	}
	if m := r.Mounts[0]; m.Destination != "/dev/shm" || !slices.Equal(m.Options,
		[]string{"rw", "notmpcopyup", "nosuid", "nodev", "noexec", "mode=1777", "size=536870912"}) {
		t.Errorf("first mount %+v", m)
	}
	if m := r.Mounts[1]; m.Destination != oci.RunDir || !slices.Equal(m.Options,
		[]string{"rw", "notmpcopyup", "U", "nosuid", "nodev", "noexec", "mode=0700", "size=268435456"}) {
		t.Errorf("second mount %+v", m)
	}
}

var update = flag.Bool("update", false, "write testdata/create.json anew")

// TestTranslateGolden keeps a whole request for review, and for spectest, which holds its keys against
// Podman's own type.
func TestTranslateGolden(t *testing.T) {
	r, err := translate(shardConfig(t), allLimits)
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	const file = "testdata/create.json"
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("run `go test ./backends/podman -update` if this is meant: -want +got\n%s", d)
	}
}

func TestTranslateWeight(t *testing.T) {
	tests := []struct {
		name    string
		limits  limits
		unified string
		shares  uint64
	}{
		{"v2", allLimits, "200", 0},
		{"v1", limits{controllers: map[string]bool{"cpu": true}}, "", 2048},
		{"not delegated", limits{cgroup2: true}, "", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := translate(shardConfig(t), tt.limits)
			if err != nil {
				t.Fatal(err)
			}
			var shares uint64
			if c := r.Resources.CPU; c != nil {
				shares = *c.Shares
			}
			if got := r.Resources.Unified[cpuWeight]; got != tt.unified || shares != tt.shares {
				t.Errorf("weight %q, shares %d", got, shares)
			}
		})
	}
}

// TestTranslateRefuses: nothing of a spec is left out silently.
func TestTranslateRefuses(t *testing.T) {
	tests := []struct {
		want string
		edit func(*specs.Spec)
	}{
		{"process.terminal", func(s *specs.Spec) { s.Process.Terminal = true }},
		{"process.capabilities.bounding", func(s *specs.Spec) { s.Process.Capabilities.Bounding = []string{"CAP_KILL"} }},
		{"process.capabilities.ambient", func(s *specs.Spec) { s.Process.Capabilities.Ambient = []string{"CAP_KILL"} }},
		{"process.capabilities is missing", func(s *specs.Spec) { s.Process.Capabilities = nil }},
		{"process.selinuxLabel", func(s *specs.Spec) { s.Process.SelinuxLabel = "x" }},
		{"process.scheduler", func(s *specs.Spec) { s.Process.Scheduler = &specs.Scheduler{} }},
		{"process.user.additionalGids", func(s *specs.Spec) { s.Process.User.AdditionalGids = []uint32{27} }},
		{"spec.hooks", func(s *specs.Spec) { s.Hooks = &specs.Hooks{} }},
		{"spec.domainname", func(s *specs.Spec) { s.Domainname = "x" }},
		{"linux.devices", func(s *specs.Spec) { s.Linux.Devices = []specs.LinuxDevice{{}} }},
		{"linux.uidMappings", func(s *specs.Spec) { s.Linux.UIDMappings = []specs.LinuxIDMapping{{}} }},
		{"linux.cgroupsPath", func(s *specs.Spec) { s.Linux.CgroupsPath = "/x" }},
		{"linux.seccomp is missing", func(s *specs.Spec) { s.Linux.Seccomp = nil }},
		{"linux.rootfsPropagation", func(s *specs.Spec) { s.Linux.RootfsPropagation = "shared" }},
		{"linux.readonlyPaths", func(s *specs.Spec) { s.Linux.ReadonlyPaths = []string{"/proc/x"} }},
		{"without pid", func(s *specs.Spec) { s.Linux.Namespaces = s.Linux.Namespaces[1:] }},
		{"joins another", func(s *specs.Spec) { s.Linux.Namespaces[0].Path = "/proc/1/ns/pid" }},
		{"user is the engine's", func(s *specs.Spec) {
			s.Linux.Namespaces = append(s.Linux.Namespaces, specs.LinuxNamespace{Type: specs.UserNamespace})
		}},
		{"linux.resources.devices", func(s *specs.Spec) { s.Linux.Resources.Devices[0].Allow = true }},
		{"linux.resources.cpu", func(s *specs.Spec) { s.Linux.Resources.CPU = &specs.LinuxCPU{} }},
		{"linux.resources.memory.reservation", func(s *specs.Spec) { r := int64(1); s.Linux.Resources.Memory.Reservation = &r }},
		{"linux.resources.unified.io.max", func(s *specs.Spec) { s.Linux.Resources.Unified["io.max"] = "x" }},
		{"isn't from 1 to 10000", func(s *specs.Spec) { s.Linux.Resources.Unified["cpu.weight"] = "0" }},
		{"only tmpfs", func(s *specs.Spec) {
			s.Mounts = append(s.Mounts, specs.Mount{Destination: "/x", Type: "bind", Source: "/"})
		}},
		{"/dev/shm is missing", func(s *specs.Spec) { s.Mounts = slices.DeleteFunc(s.Mounts, at("/dev/shm")) }},
		{"/dev/shm: option ro can't", addOption("/dev/shm", "ro")},
		{"/proc: Podman mounts it without ro", addOption("/proc", "ro")},
		{"/tmp: option huge can't", addOption("/tmp", "huge")},
		{"/tmp: option mode is there twice", addOption("/tmp", "mode=0700")},
		{"option \"gid=x\" can't be read", addOption("/dev/pts", "gid=x")},
		{"no mode", dropOption("/tmp", "mode=1777")},
		{"no size", dropOption(oci.RunDir, "size=268435456")},
		{"owner 0:1000", dropOption("/tmp", "uid=1000")},
		{"clean absolute", func(s *specs.Spec) { s.Mounts[0].Destination = "proc" }},
		{"id mappings", func(s *specs.Spec) { s.Mounts[0].UIDMappings = []specs.LinuxIDMapping{{}} }},
	}
	for _, tt := range tests {
		t.Run(tt.want, func(t *testing.T) {
			c := shardConfig(t)
			tt.edit(c.Spec)
			_, err := translate(c, allLimits)
			if !errors.Is(err, backends.ErrInvalid) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want ErrInvalid with %q", err, tt.want)
			}
		})
	}
}

func at(destination string) func(specs.Mount) bool {
	return func(m specs.Mount) bool { return m.Destination == destination }
}

func addOption(destination, option string) func(*specs.Spec) {
	return func(s *specs.Spec) {
		m := &s.Mounts[slices.IndexFunc(s.Mounts, at(destination))]
		m.Options = append(slices.Clone(m.Options), option)
	}
}

func dropOption(destination, option string) func(*specs.Spec) {
	return func(s *specs.Spec) {
		m := &s.Mounts[slices.IndexFunc(s.Mounts, at(destination))]
		m.Options = slices.DeleteFunc(slices.Clone(m.Options), func(o string) bool { return o == option })
	}
}

func TestTranslateNetwork(t *testing.T) {
	c := shardConfig(t)
	c.Network = backends.NetworkEngine
	r, err := translate(c, allLimits)
	if err != nil || r.NetNS.Mode != nsDefault {
		t.Errorf("netns %q, %v", r.NetNS.Mode, err)
	}
}
