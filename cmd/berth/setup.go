package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/image"
	"github.com/berth-run/berth/internal/eval"
	"github.com/berth-run/berth/internal/evalconfig"
	"github.com/berth-run/berth/internal/runner"
)

func (a *app) newRunner() *cobra.Command {
	c := &cobra.Command{
		Use: "runner", Short: "Set a runner up", Args: cobra.NoArgs,
		Example: "  berth runner setup podman --config eval.json",
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.newSetup())
	return c
}

// setupFlags are mst's, and berth's --name and --refresh.
type setupFlags struct {
	config, name string
	options      []string
	refresh      bool
}

func (a *app) newSetup() *cobra.Command {
	var f setupFlags
	c := &cobra.Command{
		Use:   "setup podman|containerd --config eval.json",
		Short: "Build the image that an eval's client needs, and give it to the engine",
		Long: `Builds the image with no daemon, no registry and no root: Debian's root file system from this
machine's mirror, Codex from its npm package, a folder of your own, and berth's worker. Client chatgpt
has a desktop too, and its app comes from a Debian package of yours (app=FILE.deb). What was built is
kept by content in ~/.cache/berth; a second set-up has nothing to do.

Runner options (--runner-option key=value, repeatable):
` + runner.SetUpHelp(),
		Example: `  berth runner setup podman --config eval.json
  berth runner setup podman --config eval.json --runner-option packages=nodejs --runner-option overlay=./connectors
  berth runner setup podman --config chatgpt.json --runner-option app=chatgpt_26.810.41047_amd64.deb`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return a.setup(c, args[0], f) },
	}
	fl := c.Flags()
	fl.StringVarP(&f.config, "config", "c", "", "the eval config, a `FILE` (required)")
	fl.StringArrayVar(&f.options, "runner-option", nil, "`KEY=VALUE`, repeatable; see above")
	fl.StringVar(&f.name, "name", "", "the image's `NAME` in the engine (default localhost/berth-CLIENT-linux:VERSION); run it by image=NAME")
	fl.BoolVar(&f.refresh, "refresh", false, "build the root file system again, with today's packages")
	return c
}

func (a *app) setup(c *cobra.Command, runnerName string, f setupFlags) error {
	o, err := runner.ParseOptions(f.options)
	if err != nil {
		return err
	}
	e, err := loadEval(f.config, evalconfig.ResolveOptions{RootDir: "."})
	if err != nil {
		return err
	}
	return a.withEngine(c.Context(), runnerName, func(ctx context.Context, engine backends.Backend) error {
		s := eval.Setup{Engine: engine, Eval: e, Options: o, Name: f.name, Refresh: f.refresh, Progress: steps(c.ErrOrStderr())}
		img, err := s.Do(ctx)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(c.OutOrStdout(), "%s %s\n", img.Ref, img.Digest)
		return err
	})
}

// steps prints a build's events: a line when a step ends, and one every few seconds of a long one.
func steps(w io.Writer) func(image.Event) {
	var last time.Time
	return func(e image.Event) {
		switch {
		case e.Done:
			fmt.Fprintf(w, "[berth] %s\n", stepLine(e))
		case time.Since(last) > 5*time.Second:
			last = time.Now()
			fmt.Fprintf(w, "[berth] %s …\n", stepLine(e))
		}
	}
}

func stepLine(e image.Event) string {
	line := e.Step
	if e.Detail != "" {
		line += " " + e.Detail
	}
	switch {
	case e.Cached:
		return line + ": already there"
	case e.Bytes > 0 && e.Total > e.Bytes:
		return fmt.Sprintf("%s: %s of %s", line, megabytes(e.Bytes), megabytes(e.Total))
	case e.Bytes > 0:
		return line + ": " + megabytes(e.Bytes)
	}
	return line
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }
