package selfcheck

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const hardened = `Name:	berth-worker
Uid:	1000	1000	1000	1000
Gid:	1000	1000	1000	1000
Groups:	1000 
CapInh:	0000000000000000
CapPrm:	0000000000000000
CapEff:	0000000000000000
CapBnd:	0000000000000000
CapAmb:	0000000000000000
NoNewPrivs:	1
Seccomp:	2
`

func TestCheckProcess(t *testing.T) {
	for name, tt := range map[string]struct {
		line string // the last of a key counts
		want []string
	}{
		"hardened":            {"", nil},
		"no groups":           {"Groups:\t\n", nil},
		"root group":          {"Groups:\t0 1000\n", []string{"groups"}},
		"host's group":        {"Groups:\t1000 65534\n", []string{"groups"}},
		"saved root":          {"Uid:\t1000\t1000\t0\t1000\n", []string{"uid"}},
		"root's group":        {"Gid:\t0\t0\t0\t0\n", []string{"gid"}},
		"bounding set":        {"CapBnd:\t00000000800405fb\n", []string{"capabilities:bounding"}},
		"ambient":             {"CapAmb:\t0000000000000001\n", []string{"capabilities:ambient"}},
		"new privileges":      {"NoNewPrivs:\t0\n", []string{"no_new_privs"}},
		"no filter":           {"Seccomp:\t0\n", []string{"seccomp"}},
		"kernel without sets": {"CapPrm:\t\n", []string{"capabilities:permitted"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := filepath.Join(t.TempDir(), "status")
			if err := os.WriteFile(p, []byte(hardened+tt.line), 0o600); err != nil {
				t.Fatal(err)
			}
			var c checks
			checkProcess(&c, "", p, Expect{UID: 1000, GID: 1000})
			if diff := cmp.Diff(tt.want, Missing(c)); diff != "" {
				t.Errorf("missing, -want +got:\n%s", diff)
			}
		})
	}
}

func TestUnreadableStatusPassesNothing(t *testing.T) {
	var c checks
	checkProcess(&c, "pid1:", filepath.Join(t.TempDir(), "none"), Expect{UID: 1000, GID: 1000})
	if got := len(Missing(c)); got != len(c) || got == 0 {
		t.Errorf("%d of %d checks failed", got, len(c))
	}
}
