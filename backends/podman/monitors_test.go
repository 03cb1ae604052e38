package podman_test

import (
	"testing"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/backends/backendtest"
	"github.com/berth-run/berth/oci"
)

// TestTrap10 counts what is left of execs once their shard is removed: Podman keeps a conmon for each,
// for five minutes.
func TestTrap10(t *testing.T) {
	r := newRig(t)
	s := r.start(t, r.config(t, oci.ShardSpec{}))
	for range 10 {
		if st, err := s.Exec(t.Context(), backends.Process{Args: []string{backendtest.ProbePath, "exit", "0"}}); err != nil || st.Code != 0 {
			t.Fatalf("%v, %v", st, err)
		}
	}
	if len(processesWith(t, s.ID())) == 0 {
		t.Error("no conmon has the shard's id: this test looks for the wrong thing")
	}
	if err := s.Remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := processesWith(t, s.ID()); len(left) > 0 {
		t.Errorf("%d processes are left", len(left))
	}
}
