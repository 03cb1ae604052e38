package worker

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/shardproto"
	"github.com/berth-run/berth/session/client"
)

// memoryEvents are where the kernel counts the processes it killed for the shard's memory limit: in
// the shard's own view of cgroup v2, and of v1.
var memoryEvents = []string{"/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"}

// watchMemory runs a trial and says of one that failed while the kernel killed for memory that this
// was why. One that succeeded all the same stays a success, with the count beside it.
func (c *collection) watchMemory(run func() client.Result) client.Result {
	before := oomKills()
	r := run()
	killed := oomKills() - before
	if killed <= 0 {
		return r
	}
	if r.Metadata == nil {
		r.Metadata = map[string]any{}
	}
	r.Metadata["oomKills"] = killed
	if r.FailureCode != "" && r.FailureCode != code.Cancelled {
		r.Error = outOfMemory(killed, r.FailureCode, r.Error)
		r.FailureCode, r.Infrastructure = code.OOMKilled, true
		delete(r.Metadata, client.FailureKind)
	}
	return r
}

// openWatched is open, with the same word on why it failed.
func (c *collection) openWatched(i int, b shardproto.Batch) (client.Session, error) {
	before := oomKills()
	s, err := c.open(i, b)
	if killed := oomKills() - before; err != nil && killed > 0 {
		err = &code.Error{Code: code.OOMKilled, Detail: outOfMemory(killed, codeOf(err), code.Detail(err)), Err: err}
	}
	return s, err
}

func outOfMemory(killed int, kind code.Code, detail string) string {
	return fmt.Sprintf("the shard's memory limit was hit and %d process(es) killed; raise it with --runner-option memory= (%s: %s)", killed, kind, detail)
}

// oomKills is the count so far, 0 where no memory controller is in force.
func oomKills() int {
	for _, file := range memoryEvents {
		raw, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(raw)) {
			if value, ok := strings.CutPrefix(line, "oom_kill "); ok {
				n, _ := strconv.Atoi(strings.TrimSpace(value))
				return n
			}
		}
	}
	return 0
}
