package podman

import (
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/internal/capacity"
)

// TestMemoryOfWhichMachine: this machine's own facts are for an engine that is on it and no other.
func TestMemoryOfWhichMachine(t *testing.T) {
	whole, err := capacity.Whole()
	if err != nil {
		if runtime.GOOS == "linux" {
			t.Fatal(err)
		}
		whole.Total = 1 << 33
	}
	tests := map[string]struct {
		remote bool
		total  int64
		here   bool
	}{
		"local":                             {false, whole.Total, runtime.GOOS == "linux"},
		"ssh to one of the same size":       {true, whole.Total, false},
		"a socket of a machine in this one": {false, whole.Total / 2, false},
	}
	for name, tt := range tests {
		m := newMemory(tt.remote, hostInfo{MemTotal: tt.total, MemFree: 1 << 20})
		if m.here != tt.here {
			t.Errorf("%s: here is %t", name, m.here)
		}
		got, err := (&Backend{memory: m}).Memory(t.Context())
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if said := (backends.Memory{Total: tt.total, Free: 1 << 20, Least: true}); !tt.here && got != said {
			t.Errorf("%s: %+v, want the engine's %+v", name, got, said)
		}
		if tt.here && (got.Free < 1<<20 || got.Total > whole.Total) {
			t.Errorf("%s: %+v of %+v", name, got, whole)
		}
	}
}

// TestMemoryIsAskedAnew: what a remote engine said long ago isn't passed on.
func TestMemoryIsAskedAnew(t *testing.T) {
	url := engine(t, filepath.Join(t.TempDir(), "s"), "5.0.0", `{"host":{"memFree":7,"memTotal":9}}`)
	e, err := candidate{source: "test", url: url}.connect(t.Context(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	b := &Backend{api: e.client}
	defer b.api.close()
	b.memory = newMemory(true, hostInfo{MemTotal: 9, MemFree: 1})
	if got, err := b.Memory(t.Context()); err != nil || got.Free != 1 {
		t.Errorf("at once: %+v, %v", got, err)
	}
	b.memory.asked = time.Now().Add(-time.Hour)
	if got, err := b.Memory(t.Context()); err != nil || got != (backends.Memory{Total: 9, Free: 7, Least: true}) {
		t.Errorf("later: %+v, %v", got, err)
	}
}
