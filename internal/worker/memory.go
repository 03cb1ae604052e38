package worker

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/berth-run/berth/internal/capacity"
	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/shardproto"
	"github.com/berth-run/berth/session/client"
)

// cgroupRoot is where a shard sees its own cgroup, and no other.
const cgroupRoot = "/sys/fs/cgroup"

// What that says of memory: in v2, with all that is below it, and in v1.
var (
	memoryEvents = []string{"memory.events", "memory/memory.oom_control"}
	memoryLimits = []string{"memory.max", "memory/memory.limit_in_bytes"}
)

// memory is the shard's, by its cgroup. What the kernel kills is known from its count there: an app may live
// on when it was a command of its that was killed, and a status of 137 has other reasons.
type memory struct {
	cgroup string
	seen   int // of the processes that were killed
}

// killed counts the processes that were killed since the last look.
func (m *memory) killed() int {
	now, ok := m.kills()
	if !ok {
		return 0
	}
	n := now - m.seen
	m.seen = now
	return n
}

// trial runs one. While the kernel killed for want of memory no outcome is the app's own: neither a failure
// nor an answer that a killed command had its part in. What was killed since the last trial counts as well:
// it left this one a shard in which something is missing.
func (c *collection) trial(s client.Session, r shardproto.Request) client.Result {
	if n := c.memory.killed(); n > 0 {
		return c.memory.outOfMemory(client.Result{}, n, "before the prompt was sent")
	}
	result := s.Run(c.ctx, client.Trial{CaseID: r.CaseID, Trial: r.Trial, Prompt: r.Input.Prompt})
	if n := c.memory.killed(); n > 0 {
		return c.memory.outOfMemory(result, n, "in this trial")
	}
	return result
}

// openWatched is open, which fails as well when the app is ready in spite of what was killed: its trials
// would run without that.
func (c *collection) openWatched(i int, b shardproto.Batch) (client.Session, error) {
	c.memory.killed() // what was is no app's doing that isn't there yet
	s, err := c.open(i, b)
	n := c.memory.killed()
	if n == 0 {
		return s, err
	}
	const when = "before the first prompt"
	if err == nil {
		c.close(b.Variant, s)
		return nil, code.Errorf(code.OOMKilled, "%s", c.memory.tell(n, when, "", ""))
	}
	return nil, &code.Error{Code: code.OOMKilled, Detail: c.memory.tell(n, when, codeOf(err), code.Detail(err)), Err: err}
}

// outOfMemory is r with that as its outcome. A trial that was cancelled stays so.
func (m *memory) outOfMemory(r client.Result, killed int, when string) client.Result {
	if r.Metadata == nil {
		r.Metadata = map[string]any{}
	}
	r.Metadata["oomKills"] = killed
	if r.FailureCode != code.Cancelled {
		r.Error = m.tell(killed, when, r.FailureCode, r.Error)
		r.FailureCode, r.Infrastructure = code.OOMKilled, true
		delete(r.Metadata, client.FailureKind)
	}
	return r
}

// tell is the line for a person; kind and detail are what it looked like, "" for an answer.
func (m *memory) tell(n int, when string, kind code.Code, detail string) string {
	limit, processes := "", "a process was"
	if l := m.limit(); l > 0 {
		limit = " of " + capacity.Size(l)
	}
	if n > 1 {
		processes = fmt.Sprintf("%d processes were", n)
	}
	line := fmt.Sprintf("the shard's memory limit%s was hit and %s killed %s; raise it with --runner-option memory=", limit, processes, when)
	if kind != "" {
		line += fmt.Sprintf(" (%s: %s)", kind, detail)
	}
	return line
}

// kills is the count so far; not ok where no memory controller is in force.
func (m *memory) kills() (n int, ok bool) {
	for line := range strings.Lines(m.read(memoryEvents)) {
		if value, found := strings.CutPrefix(line, "oom_kill "); found {
			n, err := strconv.Atoi(strings.TrimSpace(value))
			return n, err == nil
		}
	}
	return 0, false
}

// limit is in bytes, 0 for none.
func (m *memory) limit() int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(m.read(memoryLimits)), 10, 64)
	if err != nil || n > math.MaxInt64/2 { // "max", and v1's word for it
		return 0
	}
	return n
}

// read reads the first of the files that is there.
func (m *memory) read(files []string) string {
	for _, file := range files {
		if text, err := os.ReadFile(filepath.Join(m.cgroup, file)); err == nil {
			return string(text)
		}
	}
	return ""
}
