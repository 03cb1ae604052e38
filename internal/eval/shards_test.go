package eval

import (
	"errors"
	"strings"
	"testing"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/backends/fake"
	"github.com/berth-run/berth/internal/shardtest"
)

func TestShardsAuto(t *testing.T) {
	const says = "; --runner-option shards=N chooses another number\n"
	tests := map[string]struct {
		memory backends.Memory
		err    error
		n      int
		line   string
	}{
		"memory for two": {backends.Memory{Total: 16 << 30, Free: 5 << 30}, nil, 2, "2 shards, for the memory: 5 GiB of memory free and 2 GiB for each; "},
		"three cases":    {backends.Memory{Total: 64 << 30, Free: 60 << 30}, nil, 3, "3 shards, for the cases: 60 GiB of memory free and 2 GiB for each; "},
		"no telling":     {backends.Memory{}, errors.New("no facts"), 1, "1 shard: no facts"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, shardtest.Options{Fake: fake.Options{Memory: func() (backends.Memory, error) { return tt.memory, tt.err }}}, "shards=auto")
			res := r.run(t)
			env := res.Record.Environment
			if env.Shards != tt.n || env.Options["shards"] != "auto" {
				t.Errorf("recorded %d shards, options %v; want %d", env.Shards, env.Options, tt.n)
			}
			first, _, _ := strings.Cut(r.log.String(), "\n")
			if !strings.HasPrefix(first, "[berth] shards=auto: "+tt.line) || !strings.HasSuffix(first+"\n", says) {
				t.Errorf("said %q", first)
			}
			if m := res.Summary.Metrics; m.Passed != 4 || m.Failed != 2 {
				t.Errorf("%+v", m)
			}
		})
	}
}

// TestShardsAutoOfWhatIsLeft: a resumed run needs shards for the cases that it lacks.
func TestShardsAutoOfWhatIsLeft(t *testing.T) {
	r := newRig(t, shardtest.Options{}, "shards=auto")
	r.run(t)
	r.Resume = "latest"
	r.run(t)
	if log := r.log.String(); !strings.Contains(log, "; 3 cases to run;") || !strings.Contains(log, "; 0 cases to run;") {
		t.Errorf("said:\n%s", log)
	}
}
