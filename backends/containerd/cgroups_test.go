package containerd

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestGrouping: where shards' cgroups are made follows from what the machine has, by its files.
func TestGrouping(t *testing.T) {
	const (
		v2     = "sys/fs/cgroup/cgroup.controllers"
		user   = "sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/cgroup.controllers"
		own    = "run/user/1000/systemd/private"
		pid1   = "run/systemd/private"
		booted = "run/systemd/system/.keep"
	)
	// engine is in a group below one that was handed to its user.
	handed := map[string]string{
		v2: "cpu memory pids", "proc/7/cgroup": "0::/a/mine/engine\n",
		"sys/fs/cgroup/a/cgroup.subtree_control":             "cpu memory pids",
		"sys/fs/cgroup/a/mine/cgroup.subtree_control":        "memory pids",
		"sys/fs/cgroup/a/mine/cgroup.procs":                  "",
		"sys/fs/cgroup/a/mine/engine/cgroup.subtree_control": "",
		"sys/fs/cgroup/a/mine/engine/cgroup.procs":           "7",
	}
	systemd := map[string]string{v2: "cpuset cpu memory pids", user: "cpu memory pids", own: "", pid1: "", booted: "",
		"proc/7/cgroup": "0::/user.slice/user-1000.slice/user@1000.service/app.slice/containerd.service\n"}
	elsewhere := map[string]string{"proc/7/cgroup": "0::/user.slice/user-1000.slice/session-3.scope\n"}
	tests := []struct {
		name     string
		files    []map[string]string
		rootless bool
		engine   int
		want     grouping
	}{
		{"root, systemd", []map[string]string{systemd}, false, 7, grouping{limits{true, []string{"cpuset", "cpu", "memory", "pids"}}, "/", "/run/systemd/private"}},
		{"root, the engine is outside", []map[string]string{systemd}, false, 0, grouping{limits{true, []string{"cpuset", "cpu", "memory", "pids"}}, "/berth", ""}},
		{"root, no systemd", []map[string]string{{v2: "memory"}}, false, 7, grouping{limits{true, []string{"memory"}}, "/berth", ""}},
		{"root, cgroup v1", []map[string]string{{"sys/fs/cgroup/cpu,cpuacct/tasks": "", "sys/fs/cgroup/freezer/tasks": "", booted: "", pid1: ""}},
			false, 7, grouping{limits{false, []string{"cpu"}}, "/berth", ""}},
		{"rootless, systemd", []map[string]string{systemd}, true, 7,
			grouping{limits{true, []string{"cpu", "memory", "pids"}}, "/user.slice/user-1000.slice/user@1000.service", "/run/user/1000/systemd/private"}},
		{"rootless, systemd, the engine is elsewhere", []map[string]string{systemd, elsewhere}, true, 7, grouping{limits: limits{cgroup2: true}}},
		{"rootless, systemd without a session", []map[string]string{{v2: "memory", booted: "", pid1: ""}}, true, 7, grouping{limits: limits{cgroup2: true}}},
		{"rootless, handed on", []map[string]string{handed}, true, 7, grouping{limits{true, []string{"memory", "pids"}}, "/a/mine", ""}},
		{"rootless, another's", []map[string]string{{v2: "memory", "proc/7/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/cgroup.subtree_control": "memory"}},
			true, 7, grouping{limits: limits{cgroup2: true}}},
		{"rootless, nothing handed on", []map[string]string{{v2: "memory", "proc/7/cgroup": "0::/a\n"}}, true, 7, grouping{limits: limits{cgroup2: true}}},
		{"rootless, cgroup v1", []map[string]string{{"sys/fs/cgroup/memory/tasks": "", booted: "", own: ""}}, true, 7, grouping{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := machine{root: t.TempDir(), uid: 1000, engine: tt.engine}
			for _, files := range tt.files {
				plant(t, m.root, files)
			}
			if d := cmp.Diff(tt.want, m.grouping(tt.rootless), cmp.AllowUnexported(grouping{}, limits{})); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

func plant(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAnyKilled(t *testing.T) {
	root := t.TempDir()
	plant(t, root, map[string]string{"none": "low 0\nhigh 0\noom 1\noom_kill 0\noom_group_kill 0\n", "some": "oom 3\noom_kill 2\n"})
	for file, want := range map[string]bool{"none": false, "some": true, "gone": false} {
		if got, err := anyKilled(filepath.Join(root, file)); got != want || err != nil {
			t.Errorf("%s: %v, %v", file, got, err)
		}
	}
}

// TestReleaseWithoutSystemd: a manager that doesn't answer is an error, and names the unit.
func TestReleaseWithoutSystemd(t *testing.T) {
	g := grouping{manager: filepath.Join(t.TempDir(), "private")}
	if err := g.release(context.Background(), "id"); err == nil {
		t.Error("released without anybody to ask")
	}
	if err := (grouping{}).release(context.Background(), "id"); err != nil {
		t.Error(err)
	}
}
