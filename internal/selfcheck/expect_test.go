package selfcheck

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-run/berth/oci"
)

func TestFromSpec(t *testing.T) {
	spec, err := oci.ShardSpec{MemoryBytes: 1 << 30, Pids: 100, CPUWeight: 300, HomeBytes: 10 << 20, TmpBytes: 20 << 20, Env: []string{"EXTRA=a=b"}}.Spec()
	if err != nil {
		t.Fatal(err)
	}
	pseudo := []string{"nosuid", "nodev", "noexec"}
	want := Expect{
		UID: 1000, GID: 1000, ReadOnlyRoot: true, NoCore: true, Network: "none",
		Mounts: []Mount{
			{Path: "/proc", Type: "proc", Options: pseudo},
			{Path: "/dev", Type: "tmpfs", Options: []string{"nosuid"}},
			{Path: "/dev/pts", Type: "devpts", Options: []string{"nosuid", "noexec"}},
			{Path: "/dev/mqueue", Type: "mqueue", Options: pseudo},
			{Path: "/sys", Type: "sysfs", Options: append([]string{"ro"}, pseudo...)},
			{Path: "/sys/fs/cgroup", Type: "cgroup", Options: append([]string{"ro"}, pseudo...)},
		},
		Tmpfs: []Tmpfs{
			{Path: "/dev/shm", Bytes: 512 << 20, Mode: 0o1777, Options: pseudo},
			{Path: "/run/berth", Bytes: 256 << 20, Mode: 0o700, UID: 1000, GID: 1000, Options: pseudo},
			{Path: "/home/berth", Bytes: 10 << 20, Mode: 0o700, UID: 1000, GID: 1000, Options: []string{"nosuid", "nodev"}},
			{Path: "/tmp", Bytes: 20 << 20, Mode: 0o1777, UID: 1000, GID: 1000, Options: []string{"nosuid", "nodev"}},
			{Path: "/run/user/1000", Bytes: 64 << 20, Mode: 0o700, UID: 1000, GID: 1000, Options: []string{"nosuid", "nodev"}},
		},
		Env: []string{
			"PATH", "HOME", "USER", "LOGNAME", "LANG", "TMPDIR", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
			"XDG_CACHE_HOME", "DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "GNOME_KEYRING_CONTROL", "EXTRA",
		},
		MaskedPaths: oci.MaskedPaths(), ReadonlyPaths: oci.ReadonlyPaths(),
		MemoryBytes: 1 << 30, Pids: 100, CPUWeight: 300,
	}
	if diff := cmp.Diff(want, FromSpec(spec, "none")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestMissing(t *testing.T) {
	got := Missing([]Check{{Name: "a", OK: true}, {Name: "b"}, {Name: "c"}})
	if diff := cmp.Diff([]string{"b", "c"}, got); diff != "" {
		t.Error(diff)
	}
}
