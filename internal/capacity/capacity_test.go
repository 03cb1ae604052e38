package capacity

import "testing"

func TestChoose(t *testing.T) {
	const gib = 1 << 30
	tests := []struct {
		machine Machine
		n       int
		why     string
	}{
		{Machine{Free: 9 * gib, Each: 2 * gib, CPUs: 8, Cases: 100}, 4, "4 shards, for the memory: 9 GiB of memory free and 2 GiB for each; 8 CPUs; 100 cases to run"},
		{Machine{Free: 90 * gib, Each: 2 * gib, CPUs: 2, Cases: 100}, 8, "8 shards, for the CPUs: 90 GiB of memory free and 2 GiB for each; 2 CPUs; 100 cases to run"},
		{Machine{Free: 90 * gib, Each: 2 * gib, CPUs: 16, Cases: 3}, 3, "3 shards, for the cases: 90 GiB of memory free and 2 GiB for each; 16 CPUs; 3 cases to run"},
		{Machine{Free: gib, Each: 3 * gib / 2, CPUs: 1, Cases: 3}, 1, "1 shard, for the memory: 1 GiB of memory free and 1.5 GiB for each; 1 CPU; 3 cases to run"},
		// What the machine itself needs isn't given away.
		{Machine{Free: 4*gib + spare - 1, Each: 2 * gib, CPUs: 8, Cases: 9}, 1, "1 shard, for the memory: 4.2 GiB of memory free and 2 GiB for each; 8 CPUs; 9 cases to run"},
		{Machine{Free: 4*gib + spare, Each: 2 * gib, CPUs: 8, Cases: 9}, 2, "2 shards, for the memory: 4.2 GiB of memory free and 2 GiB for each; 8 CPUs; 9 cases to run"},
		{Machine{Free: 90 * gib, Each: 2 * gib, CPUs: 2}, 1, "1 shard, for the cases: 90 GiB of memory free and 2 GiB for each; 2 CPUs; 0 cases to run"},
	}
	for _, tt := range tests {
		if n, why := tt.machine.Choose(); n != tt.n || why != tt.why {
			t.Errorf("%+v:\n got %d: %s\nwant %d: %s", tt.machine, n, why, tt.n, tt.why)
		}
	}
}

func TestSize(t *testing.T) {
	for bytes, want := range map[int64]string{2 << 30: "2 GiB", 3 << 29: "1.5 GiB", 300 << 20: "300 MiB", 1<<20 + 1<<19: "1.5 MiB", 0: "0 MiB"} {
		if got := Size(bytes); got != want {
			t.Errorf("%d bytes are %q, want %q", bytes, got, want)
		}
	}
}
