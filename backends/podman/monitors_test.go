package podman_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/berth-run/berth/backends/backendtest"
	"github.com/berth-run/berth/backends/podman"
	"github.com/berth-run/berth/oci"
)

// TestTrap10 counts what Podman itself has left of execs once their shard is removed: it keeps a conmon
// for each, for five minutes, and with it the session (podman#7391). The conformance suite counts what
// is left in the shard and in this process.
func TestTrap10(t *testing.T) {
	r := newRig(t)
	before := serviceFiles(t, podman.Socket(r.Backend))
	s := r.start(t, r.config(t, oci.ShardSpec{}))
	const n = 20
	backendtest.Execs(t, s, n, n)
	if got := len(processesWith(t, s.ID())); got < n {
		t.Errorf("%d processes have the shard's id: this test looks for the wrong thing", got)
	}
	if err := s.Remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := processesWith(t, s.ID()); len(left) > 0 {
		t.Errorf("%d processes are left", len(left))
	}
	eventually(t, "the service has closed what each exec opened", func() bool {
		return serviceFiles(t, podman.Socket(r.Backend)) < before+n
	})
}

// serviceFiles counts what a service of ours has open, of its processes the one that has most.
func serviceFiles(t *testing.T, socket string) int {
	t.Helper()
	most := 0
	for _, p := range processesWith(t, socket) {
		// Of the supervisor's shell and of Podman's outer process there are few.
		if files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.pid)); err == nil {
			most = max(most, len(files))
		}
	}
	return most
}
