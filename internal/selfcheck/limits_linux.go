package selfcheck

import (
	"fmt"
	"math"
	"strconv"
)

// checkLimits reads the limits from the cgroups that can be seen from here; root is "/" but in tests.
// What has no file isn't in force: the controller isn't delegated, or there is no cgroup.
func checkLimits(root string, e Expect) []Check {
	var c checks
	g := openCgroup(root)
	if e.MemoryBytes > 0 {
		c.atMost("memory", e.MemoryBytes, g.values("memory", "memory.max", "memory.limit_in_bytes"))
		if swap := g.swap(); len(swap) > 0 {
			c.atMost("memory.swap", g.swapAllowed(e.MemoryBytes), swap)
		}
	}
	if e.Pids > 0 {
		c.atMost("pids", e.Pids, g.values("pids", "pids.max", "pids.max"))
	}
	if e.CPUWeight > 0 {
		c.weight(e.CPUWeight, g)
	}
	return c
}

// atMost passes when any cgroup on the way holds the shard to want or less. A kernel rounds memory
// down to pages, and an engine may itself be limited further.
func (c *checks) atMost(name string, want int64, values []string) {
	if len(values) == 0 {
		c.add(name, false, fmt.Sprint(want), "not in force")
		return
	}
	least := int64(math.MaxInt64)
	for _, v := range values {
		if n, err := strconv.ParseInt(v, 10, 64); err == nil {
			least = min(least, n)
		}
	}
	got := fmt.Sprint(least)
	if least == math.MaxInt64 {
		got = "max"
	}
	c.add(name, least <= want, fmt.Sprint(want), got)
}

func (c *checks) weight(want uint64, g cgroup) {
	got := "not in force"
	for _, v := range g.values("cpu", "cpu.weight", "cpu.shares") {
		n, err := strconv.ParseUint(v, 10, 64)
		if err != nil {
			continue
		}
		if !g.v2 {
			n = n * 100 / 1024 // v1's default for v2's
		}
		got = fmt.Sprint(n)
		if n == want {
			break
		}
	}
	c.add("cpu.weight", got == fmt.Sprint(want), fmt.Sprint(want), got)
}
