// Command berth runs evals of AI desktop apps and coding agents in disposable, rootless Linux
// containers on Podman. It holds flags and output only; a run itself is in internal/eval.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/berth-run/berth/internal/report"
	"github.com/berth-run/berth/internal/version"
)

func main() { os.Exit(execute(os.Args[1:])) }

// execute runs one command line and gives its exit status (internal/report's).
func execute(args []string) int {
	ctx, stop := interruptible()
	defer stop()
	root := newRoot()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return report.ExitPassed
	}
	var status exitStatus
	if errors.As(err, &status) && status.err == nil {
		return status.code
	}
	fmt.Fprintln(os.Stderr, "berth:", err)
	return statusOf(err)
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "berth",
		Short: "Run evals of AI apps and coding agents in disposable, rootless containers",
		Long: `berth runs every trial of an eval in disposable, rootless Linux containers ("shards") on Podman:
no Docker daemon, no root, no account. It takes the eval configs of mst and writes its result folders.

  berth runner setup podman --config eval.json    build the image that the eval's client needs
  berth run --config eval.json --runner podman    run the eval; add --script FILE to rehearse it
                                                  with a scripted gateway and no account

Exit status: 0 all passed, 1 a case failed, 2 usage or config, 3 nothing could be set up,
4 trials are missing, 130 interrupted twice.`,
		Version:       version.Version,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{renamed(err)} })
	root.AddCommand(newRun(), newRunner(), newGateway(), newPs(), newSweep(), newVersion())
	usageErrors(root)
	return root
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print berth's version", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(c.OutOrStdout(), "berth", version.Version)
			return err
		},
	}
}

// interruptible gives a context that the first SIGINT or SIGTERM drains (see drained) and the
// second cancels.
func interruptible() (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	drain := make(chan struct{})
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		for n := 0; ; n++ {
			select {
			case <-signals:
				if n == 0 {
					fmt.Fprintln(os.Stderr, "berth: ending; what has finished is kept. Once more ends at once.")
					close(drain)
					continue
				}
				cancel(errInterrupted)
				return
			case <-done:
				return
			}
		}
	}()
	return context.WithValue(ctx, drainKey{}, (<-chan struct{})(drain)), func() {
		signal.Stop(signals)
		close(done)
		cancel(nil)
	}
}

type drainKey struct{}

// drained is closed by the first interrupt.
func drained(ctx context.Context) <-chan struct{} {
	d, _ := ctx.Value(drainKey{}).(<-chan struct{})
	return d
}

// untilInterrupt is for commands that have nothing to drain: the first interrupt ends them.
func untilInterrupt(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-drained(ctx):
			cancel(errInterrupted)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}
