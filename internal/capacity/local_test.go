package capacity

import (
	"runtime"
	"testing"
	"testing/fstest"
)

func files(of map[string]string) fstest.MapFS {
	m := fstest.MapFS{"proc/meminfo": {Data: []byte("MemTotal:       16777216 kB\nMemFree:         1048576 kB\nMemAvailable:   12582912 kB\nHugePages_Total:       0\n")}}
	for name, text := range of {
		m[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return m
}

func TestLocalOfFacts(t *testing.T) {
	const gib = 1 << 30
	tests := map[string]struct {
		of   map[string]string
		want Memory
	}{
		"no cgroups": {nil, Memory{16 * gib, 12 * gib}},
		"v2, no limit": {map[string]string{
			"proc/self/cgroup": "0::/user.slice/a.scope\n",
			"sys/fs/cgroup/user.slice/a.scope/memory.max": "max\n", "sys/fs/cgroup/user.slice/a.scope/memory.current": "1\n",
		}, Memory{16 * gib, 12 * gib}},
		"v2, a limit above": {map[string]string{
			"proc/self/cgroup":                        "0::/user.slice/a.scope\n",
			"sys/fs/cgroup/user.slice/memory.max":     "4294967296\n",
			"sys/fs/cgroup/user.slice/memory.current": "3221225472\n",
			"sys/fs/cgroup/user.slice/memory.stat":    "anon 1\ninactive_file 1073741824\n",
		}, Memory{4 * gib, 2 * gib}},
		"v2, in a container": {map[string]string{
			"proc/self/cgroup":             "0::/\n",
			"sys/fs/cgroup/memory.max":     "2147483648\n",
			"sys/fs/cgroup/memory.current": "1073741824\n",
		}, Memory{2 * gib, gib}},
		"v1, no limit": {map[string]string{
			"proc/self/cgroup": "4:memory:/job\n0::/\n",
			"sys/fs/cgroup/memory/job/memory.limit_in_bytes": "9223372036854771712\n",
			"sys/fs/cgroup/memory/job/memory.usage_in_bytes": "4096\n",
		}, Memory{16 * gib, 12 * gib}},
		"v1, in a container that doesn't see its own path": {map[string]string{
			"proc/self/cgroup":                           "7:pids:/docker/abc\n4:memory:/docker/abc\n0::/\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "3221225472\n",
			"sys/fs/cgroup/memory/memory.usage_in_bytes": "2147483648\n",
			"sys/fs/cgroup/memory/memory.stat":           "cache 9\ntotal_inactive_file 1073741824\n",
		}, Memory{3 * gib, 2 * gib}},
		"more in use than the limit": {map[string]string{
			"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "100\n", "sys/fs/cgroup/memory.current": "200\n",
		}, Memory{100, 0}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			root := files(tt.of)
			m, err := meminfo(root)
			if err != nil {
				t.Fatal(err)
			}
			if got := within(root, m); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestNoFactsIsAnError(t *testing.T) {
	for name, root := range map[string]fstest.MapFS{"no /proc": {}, "no MemTotal": {"proc/meminfo": {Data: []byte("Other: 1 kB\n")}}} {
		if m, err := meminfo(root); err == nil {
			t.Errorf("%s: got %+v, want an error", name, m)
		}
	}
}

// TestLocal is this machine, whatever it has.
func TestLocal(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs Linux's /proc")
	}
	own, err := Local()
	if err != nil {
		t.Fatal(err)
	}
	whole, err := Whole()
	if err != nil {
		t.Fatal(err)
	}
	if own.Free < 1<<20 || own.Total < own.Free || whole.Total < own.Total || whole.Free < 1<<20 {
		t.Errorf("this process may have %+v of %+v", own, whole)
	}
}
