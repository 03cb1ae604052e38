package podman_test

import (
	"testing"

	"github.com/berth-run/berth/backends/backendtest"
	"github.com/berth-run/berth/oci"
)

// TestTrap10 counts what Podman itself has left of execs once their shard is removed: it keeps a conmon
// for each, for five minutes, and with it the session (podman#7391). The conformance suite counts what
// is left in the shard and in this process. The service's own files aren't counted: 4.3 leaves those of
// an exec (its spec, its socket, the event log) to its garbage collector.
func TestTrap10(t *testing.T) {
	r := newRig(t)
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
}
