// Command bench measures berth beside what else does the same, in turn and in one run, and prints a
// table with the date and the machine, and a line `RATIO <name> <number>` for every figure: what berth
// took, divided by what its peer took. `make bench-channel` and its like run it; docs/performance.md
// keeps what came of it. It judges nothing: no number fails it, but those of a soak, which are to stay as
// they are.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
)

// bench measures and prints.
type bench func(context.Context, rounds, io.Writer) error

// benches are the verbs.
var benches = map[string]bench{
	"channel": onEngine(benchChannel),
	"start":   onEngine(benchStart),
	"run":     onEngine(benchRun),
	"memory":  onEngine(benchMemory),
	"session": benchSession,
	"atspi":   benchAtspi,
	"backend": benchBackend,
	"chatgpt": benchChatGPT,
	// These two have no peer, and fail where something grows.
	"soak-podman":     onEngine(soakPodman),
	"soak-containerd": soakContainerd,
}

// onEngine is a bench that needs the engine and its image.
func onEngine(b func(context.Context, *rig, rounds, io.Writer) error) bench {
	return func(ctx context.Context, n rounds, w io.Writer) error {
		r, err := openRig(ctx)
		if err != nil {
			return err
		}
		return errors.Join(b(ctx, r, n, w), r.close())
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) > 0 && args[0] == pssVerb {
		return runPSS(args[1:], os.Stdout)
	}
	if len(args) == 1 && args[0] == halfVerb {
		return runHalf(ctx, os.Stdin, os.Stdout)
	}
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	n := rounds{}
	f.IntVar(&n.counted, "runs", 10, "counted runs of everything")
	f.IntVar(&n.warmup, "warmup", 2, "runs before these that aren't counted")
	if err := f.Parse(args); err != nil {
		return err
	}
	b := benches[f.Arg(0)]
	if b == nil || f.NArg() != 1 || n.counted < 1 || n.warmup < 0 {
		verbs := strings.Join(slices.Sorted(maps.Keys(benches)), "|")
		return fmt.Errorf("usage: bench [-runs N] [-warmup N] %s", verbs)
	}
	return b(ctx, n, os.Stdout)
}
