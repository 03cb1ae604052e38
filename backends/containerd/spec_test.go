package containerd

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/oci"
)

func config(t *testing.T) backends.Config {
	t.Helper()
	spec, err := oci.ShardSpec{CPUWeight: 200}.Spec()
	if err != nil {
		t.Fatal(err)
	}
	return backends.Config{Name: "s", Image: "i", Spec: spec, Network: backends.NetworkNone}
}

var all = []string{"memory", "pids", "cpu"}

// TestAdapt: of the spec nothing but what is named here becomes other than oci had it.
func TestAdapt(t *testing.T) {
	ids := []specs.LinuxIDMapping{{ContainerID: 0, HostID: 70000, Size: 65536}}
	rooted := func(l *specs.Linux) {
		l.UIDMappings, l.GIDMappings, l.CgroupsPath = ids, ids, "/berth/id"
		l.Namespaces = append(l.Namespaces, specs.LinuxNamespace{Type: specs.UserNamespace})
	}
	shares := uint64(2048)
	tests := []struct {
		name   string
		b      Backend
		change func(*specs.Linux)
	}{
		{"root, cgroup v2", Backend{ids: &idRange{70000, 70000}, groups: grouping{limits{true, all}, "/berth", ""}}, rooted},
		{"root, cgroup v1", Backend{ids: &idRange{70000, 70000}, groups: grouping{limits{false, all}, "/berth", ""}}, func(l *specs.Linux) {
			rooted(l)
			l.Resources.Unified, l.Resources.CPU = nil, &specs.LinuxCPU{Shares: &shares}
		}},
		{"rootless, systemd", Backend{groups: grouping{limits{true, all}, "/user.slice", "/run/user/1000/systemd/private"}}, func(l *specs.Linux) {
			l.CgroupsPath = "berthid.slice:berth:id"
		}},
		{"rootless, some delegated", Backend{groups: grouping{limits{true, []string{"pids"}}, "/mine", ""}}, func(l *specs.Linux) {
			l.Resources.Memory, l.Resources.Unified = nil, nil
			l.CgroupsPath = "/mine/id"
		}},
		{"rootless", Backend{groups: grouping{limits: limits{true, nil}}}, func(l *specs.Linux) {
			l.Resources.Memory, l.Resources.Pids, l.Resources.Unified = nil, nil, nil
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := config(t)
			got, err := tt.b.adapt(c, "id")
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(config(t).Spec, c.Spec); d != "" {
				t.Errorf("the caller's spec was changed:\n%s", d)
			}
			want := config(t).Spec
			tt.change(want.Linux)
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

func TestAdaptRefuses(t *testing.T) {
	for name, edit := range map[string]func(*specs.Linux){
		"cgroup": func(l *specs.Linux) { l.CgroupsPath = "/x" },
		"ids":    func(l *specs.Linux) { l.UIDMappings = []specs.LinuxIDMapping{{Size: 1}} },
		"user namespace": func(l *specs.Linux) {
			l.Namespaces = append(l.Namespaces, specs.LinuxNamespace{Type: specs.UserNamespace})
		},
		"joined namespace": func(l *specs.Linux) { l.Namespaces[0].Path = "/proc/1/ns/pid" },
		"unknown limit":    func(l *specs.Linux) { l.Resources.Unified["memory.high"] = "1" },
		"no weight":        func(l *specs.Linux) { l.Resources.Unified[oci.CPUWeightKey] = "0" },
	} {
		t.Run(name, func(t *testing.T) {
			c := config(t)
			edit(c.Spec.Linux)
			b := Backend{groups: grouping{limits: limits{true, all}}}
			if _, err := b.adapt(c, "id"); !errors.Is(err, backends.ErrInvalid) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestCheckVersion(t *testing.T) {
	for version, ok := range map[string]bool{"1.6.20~ds1": true, "1.7.24": true, "v2.1.4": true, "1.5.18": false, "1.4.13~ds1": false, "dev": true} {
		if err := checkVersion(version); errors.Is(err, backends.ErrUnsupported) == ok {
			t.Errorf("%s: %v", version, err)
		}
	}
}

func TestLabels(t *testing.T) {
	c := backends.Config{Name: "n", Labels: map[string]string{"a": "1", "none": "", "also-none": ""}}
	stored := makeLabels(c, image{config: "sha256:x"})
	for k, v := range stored { // as the engine does
		if v == "" {
			delete(stored, k)
		}
	}
	if d := cmp.Diff(c.Labels, shardLabels(stored)); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}
