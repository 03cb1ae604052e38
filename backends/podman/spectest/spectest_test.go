// Package spectest holds the keys of our create request against Podman's own type. It's a module of
// its own, because that type brings a hundred modules and build tags: `make spectest` runs it.
package spectest

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// golden is a whole request, which a test of package podman keeps.
const golden = "../testdata/create.json"

func TestKeys(t *testing.T) {
	found, err := problems(readGolden(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range found {
		t.Error(p)
	}
}

// TestPlanted spoils the request, and wants to be told by name.
func TestPlanted(t *testing.T) {
	for _, tt := range []struct{ right, planted, says string }{
		{`"no_new_privileges"`, `"no_new_privilegs"`, "Podman has no key no_new_privilegs"},
		{`"cap_drop"`, `"capDrop"`, "Podman has no key capDrop"},
		{`"pidns": {` + "\n\t\t" + `"nsmode"`, `"pidns": {"mode"`, "Podman drops pidns.mode (private)"},
		{`"pids": {` + "\n\t\t\t" + `"limit"`, `"pids": {"max"`, "Podman drops resource_limits.pids.max (100)"},
		{`"destination"`, `"target"`, "Podman drops mounts[0].target (/dev/shm)"},
	} {
		t.Run(tt.planted, func(t *testing.T) {
			request := readGolden(t)
			if !bytes.Contains(request, []byte(tt.right)) {
				t.Fatalf("%s has no %s", golden, tt.right)
			}
			found, err := problems(bytes.Replace(request, []byte(tt.right), []byte(tt.planted), 1))
			if err != nil {
				t.Fatal(err)
			}
			if len(found) != 1 || found[0] != tt.says {
				t.Errorf("found %q, want %q", strings.Join(found, "; "), tt.says)
			}
		})
	}
}

// TestPlantedKind: a value of another kind doesn't even read.
func TestPlantedKind(t *testing.T) {
	request := bytes.Replace(readGolden(t), []byte(`"privileged": false`), []byte(`"privileged": "no"`), 1)
	if found, err := problems(request); err == nil || !strings.Contains(err.Error(), "privileged") {
		t.Errorf("found %v, %v", found, err)
	}
}

func readGolden(t *testing.T) []byte {
	t.Helper()
	b, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
