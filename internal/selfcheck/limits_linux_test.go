package selfcheck

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tree writes files under a fresh root and returns it.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		p := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestLimits(t *testing.T) {
	e := Expect{MemoryBytes: 1 << 30, Pids: 100, CPUWeight: 250}
	const cg = "sys/fs/cgroup/"
	v2 := func(more map[string]string) map[string]string {
		files := map[string]string{
			"proc/self/cgroup": "0::/\n", cg + "cgroup.controllers": "cpu memory pids\n",
			cg + "memory.max": "1073741824\n", cg + "memory.swap.max": "0\n", cg + "pids.max": "100\n", cg + "cpu.weight": "250\n",
		}
		for k, v := range more {
			if files[k] = v; v == "" {
				delete(files, k)
			}
		}
		return files
	}
	v1 := map[string]string{
		"proc/self/cgroup":                        "5:memory:/\n4:pids:/\n3:cpu,cpuacct:/\n1:name=systemd:/\n",
		cg + "memory/memory.limit_in_bytes":       "1073741824\n",
		cg + "memory/memory.memsw.limit_in_bytes": "1073741824\n",
		cg + "pids/pids.max":                      "100\n",
		cg + "cpu/cpu.shares":                     "2560\n",
		cg + "unified/cgroup.controllers":         "\n",
		cg + "memory/below/memory.limit_in_bytes": "1\n",
		cg + "cpuset/cpuset.cpus":                 "0-1\n",
	}
	for name, tt := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"all in force":                {v2(nil), nil},
		"no cgroup":                   {map[string]string{"proc/self/cgroup": "0::/\n"}, []string{"memory", "pids", "cpu.weight"}},
		"nothing delegated":           {map[string]string{"proc/self/cgroup": "0::/\n", cg + "cgroup.controllers": "hugetlb\n"}, []string{"memory", "pids", "cpu.weight"}},
		"memory dropped":              {v2(map[string]string{cg + "memory.max": "max\n"}), []string{"memory"}},
		"memory too high":             {v2(map[string]string{cg + "memory.max": "1073745920\n"}), []string{"memory"}},
		"engine is limited further":   {v2(map[string]string{cg + "memory.max": "1000000\n"}), nil},
		"swap allowed":                {v2(map[string]string{cg + "memory.swap.max": "max\n"}), []string{"memory.swap"}},
		"no swap accounting":          {v2(map[string]string{cg + "memory.swap.max": ""}), nil},
		"pids dropped":                {v2(map[string]string{cg + "pids.max": "max\n"}), []string{"pids"}},
		"cpu not delegated":           {v2(map[string]string{cg + "cpu.weight": ""}), []string{"cpu.weight"}},
		"weight dropped":              {v2(map[string]string{cg + "cpu.weight": "100\n"}), []string{"cpu.weight"}},
		"limit on a parent":           {v2(map[string]string{"proc/self/cgroup": "0::/a/b\n", cg + "a/b/memory.max": "max\n", cg + "a/b/cpu.weight": "100\n", cg + "a/memory.max": "max\n"}), nil},
		"cgroup outside of namespace": {v2(map[string]string{"proc/self/cgroup": "0::/../other\n"}), nil},
		"v1":                          {v1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Missing(checkLimits(tree(t, tt.files), e))); diff != "" {
				t.Errorf("missing, -want +got:\n%s", diff)
			}
		})
	}
}

func TestLimitsV1Loosened(t *testing.T) {
	const cg = "sys/fs/cgroup/"
	root := tree(t, map[string]string{
		"proc/self/cgroup":                        "5:memory:/docker/x\n4:pids:/\n3:cpu,cpuacct:/\n",
		cg + "memory/memory.limit_in_bytes":       "9223372036854771712\n",
		cg + "memory/memory.memsw.limit_in_bytes": "9223372036854771712\n",
		cg + "pids/pids.max":                      "max\n",
		cg + "cpu/cpu.shares":                     "1024\n",
	})
	want := []string{"memory", "memory.swap", "pids", "cpu.weight"}
	if diff := cmp.Diff(want, Missing(checkLimits(root, Expect{MemoryBytes: 1 << 30, Pids: 100, CPUWeight: 250}))); diff != "" {
		t.Errorf("missing, -want +got:\n%s", diff)
	}
}

func TestLimitsNotAskedFor(t *testing.T) {
	if got := checkLimits(tree(t, nil), Expect{}); len(got) != 0 {
		t.Errorf("checked %v", got)
	}
}
