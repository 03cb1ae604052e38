// Command berth runs evals of AI desktop apps and coding agents in disposable, rootless Linux
// containers on Podman. It holds flags and output only; a run itself is in internal/eval.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/backends/containerd"
	"github.com/berth-run/berth/internal/eval"
	"github.com/berth-run/berth/internal/report"
	"github.com/berth-run/berth/internal/version"
)

func main() {
	containerd.RunNetworkHelper()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	// Without this, `berth run … | head` would die of the next line it writes and leave its shards. With
	// it such a write only fails.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, stop := interruptible(signals)
	a := &app{openEngine: eval.OpenEngine, stdout: os.Stdout, stderr: os.Stderr}
	status := a.execute(ctx, os.Args[1:])
	stop()
	os.Exit(status)
}

// app is what the commands have of the world.
type app struct {
	openEngine     func(ctx context.Context, name string) (backends.Backend, error)
	stdout, stderr io.Writer
}

// execute runs one command line and gives its exit status (internal/report's).
func (a *app) execute(ctx context.Context, args []string) int {
	root := a.newRoot()
	root.SetArgs(spread(args))
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	err := root.ExecuteContext(ctx)
	if err != nil && errors.Is(context.Cause(ctx), errInterrupted) && !errors.Is(err, errInterrupted) {
		err = errInterrupted // it says more than the call that was cut short by it
	}
	var status exitStatus
	switch {
	case err == nil:
		return report.ExitPassed
	case errors.As(err, &status) && status.err == nil:
		return status.code
	}
	complain(a.stderr, err)
	return statusOf(err)
}

// withEngine opens an engine for as long as do takes, or until the first interrupt.
func (a *app) withEngine(ctx context.Context, name string, do func(context.Context, backends.Backend) error) error {
	return untilInterrupt(ctx, func(ctx context.Context) error {
		engine, err := a.openEngine(ctx, name)
		if err != nil {
			return err
		}
		defer engine.Close() // its own service ends with this process anyway
		return do(ctx, engine)
	})
}

func (a *app) newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "berth",
		Short: "Run evals of AI apps and coding agents in disposable, rootless containers",
		Long: `berth runs every trial of an eval in disposable, rootless Linux containers ("shards") on Podman
or containerd: no Docker daemon, no root, no account. It takes the eval configs of mst and writes its
result folders.

  berth runner setup podman --config eval.json    build the image that the eval's client needs
  berth run --config eval.json --runner podman    run the eval; add --script FILE to rehearse it
                                                  with a scripted gateway and no account

Exit status: 0 all passed, 1 a case failed, 2 usage or config, 3 nothing could be set up,
4 trials are missing, 130 interrupted twice, or before a shard was made.`,
		Version:       version.Version,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return usageError{explained(err, c)} })
	root.AddCommand(a.newRun(), a.newRunner(), a.newCanary(), newEvidence(), newGateway(), a.newPs(), a.newSweep(), newVersion())
	usageErrors(root)
	return root
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print berth's version", Example: "  berth version", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(c.OutOrStdout(), "berth", version.Version)
			return err
		},
	}
}
