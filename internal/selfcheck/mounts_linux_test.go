package selfcheck

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/moby/sys/mountinfo"
)

func table(t *testing.T, lines ...string) mountTable {
	t.Helper()
	infos, err := mountinfo.GetMountsFromReader(strings.NewReader(strings.Join(lines, "\n")), nil)
	if err != nil {
		t.Fatal(err)
	}
	m := mountTable{}
	for _, i := range infos {
		m[i.Mountpoint] = i
	}
	return m
}

func TestMountTable(t *testing.T) {
	pseudo := []string{"ro", "nosuid", "nodev", "noexec"}
	for name, tt := range map[string]struct {
		lines []string
		mount Mount
		want  []string
	}{
		"as asked": {
			[]string{"9 1 0:9 / /sys ro,nosuid,nodev,noexec,relatime - sysfs sysfs rw"},
			Mount{"/sys", "sysfs", pseudo}, nil,
		},
		"read-only by the file system": {
			[]string{"9 1 0:9 / / rw,relatime - overlay overlay ro,lowerdir=/x"},
			Mount{"/", "", []string{"ro"}}, nil,
		},
		"missing": {
			nil, Mount{"/sys", "sysfs", []string{"ro"}}, []string{"mount:/sys", "mount:/sys:ro"},
		},
		"a later mount on top": {
			[]string{"9 1 0:9 / /sys ro,nosuid,nodev,noexec - sysfs sysfs rw", "10 9 0:10 / /sys rw,nosuid,nodev,noexec - sysfs sysfs rw"},
			Mount{"/sys", "sysfs", pseudo}, []string{"mount:/sys:ro"},
		},
		"cgroup v2": {
			[]string{"9 1 0:9 / /sys/fs/cgroup ro,nosuid,nodev,noexec - cgroup2 cgroup2 rw"},
			Mount{"/sys/fs/cgroup", "cgroup", pseudo}, nil,
		},
		"cgroup v1": {
			[]string{
				"9 1 0:9 / /sys/fs/cgroup rw,nosuid,nodev,noexec - tmpfs tmpfs rw,mode=755",
				"10 9 0:10 / /sys/fs/cgroup/pids ro,nosuid,nodev,noexec - cgroup cgroup rw,pids",
			},
			Mount{"/sys/fs/cgroup", "cgroup", pseudo}, nil,
		},
		"cgroup v1 with a writable controller": {
			[]string{
				"9 1 0:9 / /sys/fs/cgroup ro,nosuid,nodev,noexec - tmpfs tmpfs rw,mode=755",
				"10 9 0:10 / /sys/fs/cgroup/pids ro,nosuid,nodev,noexec - cgroup cgroup rw,pids",
				"11 9 0:11 / /sys/fs/cgroup/memory rw,nosuid,nodev,noexec - cgroup cgroup rw,memory",
			},
			Mount{"/sys/fs/cgroup", "cgroup", pseudo}, []string{"mount:/sys/fs/cgroup:ro"},
		},
		"part of another tmpfs": {
			[]string{"9 1 0:9 /x /tmp rw,nosuid - tmpfs tmpfs rw"},
			Mount{"/tmp", "tmpfs", []string{"nosuid"}}, []string{"mount:/tmp"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var c checks
			table(t, tt.lines...).check(&c, tt.mount)
			if diff := cmp.Diff(tt.want, Missing(c)); diff != "" {
				t.Errorf("missing, -want +got:\n%s", diff)
			}
		})
	}
}

func TestUnexpectedMounts(t *testing.T) {
	got := table(t,
		"1 0 0:1 / / ro - overlay overlay rw",
		"2 1 0:2 / /proc rw - proc proc rw",
		"3 2 0:2 /sys /proc/sys ro - proc proc rw",
		"4 2 0:2 / /proc/again rw - proc proc rw",
		"5 1 0:5 / /tmp rw - tmpfs tmpfs rw",
		"6 1 8:1 /etc /mnt ro - ext4 /dev/vda rw",
		`7 5 8:1 /s.sock /tmp/a\040b.sock rw - ext4 /dev/vda rw`,
		"8 1 8:1 /host/hosts /etc/hosts.more rw - ext4 /dev/vda rw",
		"9 1 0:6 /vda /dev/vda rw - devtmpfs devtmpfs rw",
	).unexpected(Expect{Mounts: []Mount{{Path: "/proc"}}, Tmpfs: []Tmpfs{{Path: "/tmp"}}})
	want := []string{
		"/dev/vda (devtmpfs rw)", "/etc/hosts.more (ext4 rw)", "/mnt (ext4 ro)",
		"/proc/again (proc rw)", "/tmp/a b.sock (ext4 rw)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestPropagation(t *testing.T) {
	got := table(t,
		"1 0 0:1 / / ro - overlay overlay rw",
		"2 1 0:2 / /mnt rw master:7 - ext4 /dev/vda rw",
		"3 1 0:3 / /srv rw shared:3 - ext4 /dev/vda rw",
	).propagating()
	if diff := cmp.Diff([]string{"/mnt (master:7)", "/srv (shared:3)"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
