package backendtest

import (
	"bytes"
	"strconv"
	"strings"
	"testing"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/oci"
)

// limitCases see that what a spec asks for holds a shard; "wait: out of memory" is what follows of one.
var limitCases = []testCase{
	{"limits: memory", "MemoryLimit", func(t *testing.T, e *env) {
		c := e.config(t)
		limit := int64(256 << 20)
		c.Spec.Linux.Resources.Memory.Limit, c.Spec.Linux.Resources.Memory.Swap = &limit, &limit
		s := e.startedAs(t, c)
		if got := e.cgroup(t, s, "memory.max", "memory/memory.limit_in_bytes"); got.text != strconv.FormatInt(limit, 10) {
			t.Errorf("%+v", got)
		}
	}},
	{"limits: processes", "PidsLimit", func(t *testing.T, e *env) {
		c := e.config(t)
		limit := int64(oci.MinPids)
		c.Spec.Linux.Resources.Pids.Limit = &limit
		s := e.startedAs(t, c)
		got, err := strconv.ParseInt(string(e.output(t, s, nil, "forks", "1000")), 10, 64)
		if err != nil || got < 1 || got >= limit {
			t.Errorf("%d processes beside what runs already, %v", got, err)
		}
	}},
	{"limits: a share of the cpus", "CPUWeight", func(t *testing.T, e *env) {
		c := e.config(t)
		c.Spec.Linux.Resources.Unified = map[string]string{oci.CPUWeightKey: "250"}
		s := e.startedAs(t, c)
		want := map[string]string{"cpu.weight": "250", "cpu/cpu.shares": "2560"} // 1024 shares are a weight of 100
		if got := e.cgroup(t, s, "cpu.weight", "cpu/cpu.shares"); got.text != want[got.file] {
			t.Errorf("%+v", got)
		}
	}},
}

func (e *env) startedAs(t *testing.T, c backends.Config) backends.Shard {
	t.Helper()
	s := e.create(t, c)
	if err := s.Start(e.context(t)); err != nil {
		t.Fatal(err)
	}
	return s
}

// cgroupFile is what a file in a shard's cgroup says.
type cgroupFile struct{ file, text string }

// cgroup reads the first of some files that the shard has: cgroup v2's name, then v1's.
func (e *env) cgroup(t *testing.T, s backends.Shard, files ...string) cgroupFile {
	t.Helper()
	for _, f := range files {
		var out bytes.Buffer
		p := probeProcess("file", "/sys/fs/cgroup/"+f)
		p.Stdout = &out
		st, err := s.Exec(e.context(t), p)
		if err != nil {
			t.Fatal(err)
		}
		if st.Code == 0 {
			return cgroupFile{f, strings.TrimSpace(out.String())}
		}
	}
	t.Fatalf("the shard's cgroup has none of %v", files)
	return cgroupFile{}
}
