package eval

import (
	"context"
	"fmt"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/internal/capacity"
	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/runner"
)

// chooseShards settles shards=auto by what the machine has at this moment, and says so.
func (r *run) chooseShards(ctx context.Context, info backends.Info, cases int) {
	if r.Options.Shards != runner.ShardsAuto {
		return
	}
	memory, err := r.Engine.Memory(ctx)
	if err != nil {
		r.Options.Shards = 1
		fmt.Fprintf(r.Progress, "[berth] shards=auto: 1 shard: %s; --runner-option shards=N chooses another number\n", code.Line(err.Error()))
		return
	}
	n, why := capacity.Machine{Free: memory.Free, Each: r.shards.Spec.Memory(), CPUs: info.CPUs, Cases: cases}.Choose()
	r.Options.Shards = min(n, runner.MaxShards)
	fmt.Fprintf(r.Progress, "[berth] shards=auto: %s; --runner-option shards=N chooses another number\n", why)
}
