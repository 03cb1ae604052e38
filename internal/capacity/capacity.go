// Package capacity tells how many shards a machine has room for: what memory is free (Local), how many
// shards to choose by that (Machine.Choose), and when one more may start (Gate). It reads this machine
// alone; what another has, its engine says. It never looks into a shard: one counts with all that its
// limit allows it.
package capacity

import (
	"fmt"
	"strings"
)

// Memory is a machine's, in bytes.
type Memory struct{ Total, Free int64 }

const (
	// spare is left to the machine: the engine's processes, berth itself, whoever else is at work.
	spare = 256 << 20
	// perCPU is how many shards share a CPU: most of the time one waits for its model.
	perCPU = 4
)

// Machine is what bounds the number of shards.
type Machine struct {
	// Free is what memory is free, and Each what a shard may take of it, in bytes.
	Free, Each int64
	CPUs       int
	// Cases are those that have something to run: a case is never spread over two shards.
	Cases int
}

// Choose gives a number of shards, at least 1, and says in one line what it's made of.
func (m Machine) Choose() (n int, why string) {
	n, by := m.memory(), "memory"
	if c := m.CPUs * perCPU; m.CPUs > 0 && c < n {
		n, by = c, "CPUs"
	}
	if m.Cases < n {
		n, by = m.Cases, "cases"
	}
	n = max(1, n)
	return n, fmt.Sprintf("%s, for the %s: %s of memory free and %s for each; %s; %s to run",
		count(n, "shard"), by, Size(m.Free), Size(m.Each), count(m.CPUs, "CPU"), count(m.Cases, "case"))
}

// memory is how many shards that is enough for.
func (m Machine) memory() int { return int(max(0, m.Free-spare) / max(1, m.Each)) }

func count(n int, of string) string {
	if n != 1 {
		of += "s"
	}
	return fmt.Sprintf("%d %s", n, of)
}

// Size is a number of bytes for people: "2 GiB", "1.5 GiB", "300 MiB".
func Size(bytes int64) string {
	unit, name := int64(1<<20), " MiB"
	if bytes >= 1<<30 {
		unit, name = 1<<30, " GiB"
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(bytes)/float64(unit)), ".0") + name
}
