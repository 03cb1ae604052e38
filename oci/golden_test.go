package oci_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-run/berth/oci"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing")

// TestGolden keeps whole specs under review. The seccomp profile has a file of its own.
func TestGolden(t *testing.T) {
	for name, spec := range map[string]oci.ShardSpec{
		"default": {},
		"chosen": {
			Args:         []string{"/opt/app/run", "--once"},
			Env:          []string{"LOG=debug", "EMPTY="},
			Hostname:     "shard-3",
			MemoryBytes:  4 << 30,
			Pids:         512,
			CPUWeight:    250,
			HomeBytes:    2 << 30,
			TmpBytes:     1 << 30,
			WritableRoot: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := spec.Spec()
			if err != nil {
				t.Fatal(err)
			}
			got.Linux.Seccomp = nil
			b, err := json.MarshalIndent(got, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			compareGolden(t, filepath.Join("testdata", name+".json"), append(b, '\n'))
		})
	}
}

func compareGolden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got; -update writes it):\n%s", path, diff)
	}
}
