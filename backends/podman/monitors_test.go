package podman_test

import (
	"testing"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/backends/backendtest"
	"github.com/berth-run/berth/backends/podman"
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

// TestStaleMonitors removes shards as a berth does that is killed before it comes to the monitors of their
// execs. A sweep ends those of berth's own.
func TestStaleMonitors(t *testing.T) {
	r := newRig(t)
	gone, there, other := r.config(t, oci.ShardSpec{}), r.config(t, oci.ShardSpec{}), r.config(t, oci.ShardSpec{})
	other.Name = "not-" + other.Name
	var ids []string
	for _, c := range []backends.Config{gone, there, other} {
		s := r.start(t, c)
		backendtest.Execs(t, s, 2, 2)
		ids = append(ids, s.ID())
	}
	for _, id := range []string{ids[0], ids[2]} {
		if err := podman.RemoveOnly(t.Context(), r.Backend, id); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Backend.RemoveStale(t.Context()); err != nil {
		t.Error(err)
	}
	for i, want := range []bool{false, true, true} {
		if left := processesWith(t, ids[i]); want != (len(left) > 0) {
			t.Errorf("shard %d: processes %+v", i, left)
		}
	}
}
