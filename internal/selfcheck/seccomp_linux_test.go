package selfcheck

import (
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/berth-run/berth/oci"
)

// TestProbesWithoutProfile proves that each call's outcome under the profile is the profile's: tried
// without one, as whoever runs the tests, it fails by its arguments.
func TestProbesWithoutProfile(t *testing.T) {
	s, err := readStatus("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range probes {
		got := p.try()
		// Where the tests themselves run under a profile, that may stop the call.
		filtered := s["Seccomp"] == "2" && (got == unix.EPERM || got == unix.ENOSYS)
		if got != p.without && !filtered {
			t.Errorf("%s: %s, want %s", p.name, errnoName(got), errnoName(p.without))
		}
		if p.want == p.without {
			t.Errorf("%s proves nothing: %s either way", p.name, errnoName(p.want))
		}
	}
}

// TestProbesAreDenied compares with the profile itself: no rule may let a probed call through.
func TestProbesAreDenied(t *testing.T) {
	spec, err := oci.ShardSpec{}.Spec()
	if err != nil {
		t.Fatal(err)
	}
	// These are allowed for some arguments; what is tried isn't among them, as a real shard shows.
	conditional := []string{"clone", "socket:vsock", "socket:alg"}
	for _, p := range probes {
		for _, rule := range spec.Linux.Seccomp.Syscalls {
			if rule.Action == "SCMP_ACT_ALLOW" && slices.Contains(rule.Names, p.name) && !slices.Contains(conditional, p.name) {
				t.Errorf("the profile allows %s", p.name)
			}
		}
	}
}
