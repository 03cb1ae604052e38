// Command berth-worker is the one binary inside a shard: its PID 1, the worker that runs the trials,
// and the near end of the channel that the coordinator execs. People meet it only when they look
// into a shard that was kept.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/berth-run/berth/internal/shardproto"
	"github.com/berth-run/berth/internal/version"
	"github.com/berth-run/berth/internal/worker"
)

const usage = `berth-worker runs inside a berth shard.

  init [--deadman 10m] [--heartbeat 15s]
                         be PID 1: start serve, reap, pass signals on; its end is the shard's
  serve [--deadman 10m] [--heartbeat 15s]
                         run trials and answer the coordinator on the control socket
  channel                join stdin and stdout to the control socket; only the engine's exec may
  kill ID                end an exec with all its descendants
  canary [--save DIR] SURFACE
                         start the ChatGPT app in a fresh profile, see what it still shows, and print that;
                         save the state that it has then
  selfcheck              compare the shard with the expectations on stdin (JSON); {} shows every check
  version                print the version

--deadman is how long no coordinator may be heard before the shard ends itself; a kept shard stays.
--heartbeat is how often the worker says that it's alive while it runs trials.
Exit status of init and serve: 0 shut down, 1 failed, 3 ended by the dead man's switch.
`

// exitUsage is the exit status of a wrong command line.
const exitUsage = 2

var errUsage = errors.New("usage")

func main() {
	os.Exit(status(run(context.Background(), os.Args[1:])))
}

func run(ctx context.Context, args []string) (int, error) {
	if len(args) == 0 {
		args = []string{"--help"}
	}
	verbs := map[string]func(context.Context, []string) (int, error){
		"init": initShard, "serve": serve, "channel": channelStdio, "kill": kill, "selfcheck": selfCheck,
		"canary": canary,
	}
	switch verb := args[0]; verb {
	case "help", "-h", "-help", "--help":
		fmt.Print(usage)
		return 0, nil
	case "version", "--version":
		fmt.Println("berth-worker", version.Version)
		return 0, nil
	default:
		do, ok := verbs[verb]
		if !ok {
			return 1, fmt.Errorf("%w: no verb %q; see berth-worker --help", errUsage, verb)
		}
		if runtime.GOOS != "linux" {
			return 1, worker.ErrUnsupported
		}
		return do(ctx, args[1:])
	}
}

// parse reads a verb's flags; it takes want arguments besides.
func parse(f *flag.FlagSet, args []string, want int) error {
	f.SetOutput(io.Discard)
	err := f.Parse(args)
	if err == nil && f.NArg() != want {
		err = fmt.Errorf("%s takes %d arguments, got %d", f.Name(), want, f.NArg())
	}
	if err != nil {
		return fmt.Errorf("%w: %w; see berth-worker --help", errUsage, err)
	}
	return nil
}

func status(code int, err error) int {
	if err == nil {
		return code
	}
	fmt.Fprintln(os.Stderr, "berth-worker:", err)
	switch {
	case errors.Is(err, errUsage):
		return exitUsage
	case errors.Is(err, worker.ErrSilent):
		return shardproto.ExitSilent
	}
	return max(code, 1)
}
