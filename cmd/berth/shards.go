package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/internal/eval"
	"github.com/berth-run/berth/internal/owner"
)

func (a *app) newPs() *cobra.Command {
	var name string
	c := &cobra.Command{
		Use: "ps", Short: "List berth's shards on an engine", Args: cobra.NoArgs,
		Long: `Lists the shards on an engine, whoever made them: their run, whether that still has a living owner,
and whether they are kept.`,
		Example: "  berth ps",
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withEngine(c.Context(), name, func(ctx context.Context, engine backends.Backend) error {
				return list(ctx, engine, c.OutOrStdout())
			})
		},
	}
	c.Flags().StringVar(&name, "runner", eval.RunnerPodman, "the container `ENGINE`: podman or containerd")
	return c
}

func list(ctx context.Context, engine backends.Backend, out io.Writer) error {
	shards, err := engine.List(ctx, map[string]string{owner.LabelRun: ""})
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "CONTAINER\tRUN\tSHARD\tSTATE\tAGE\tOWNER\tKEPT")
	for _, l := range shards {
		s, err := owner.Parse(l.Labels)
		if err != nil {
			continue // somebody else's use of our label
		}
		verdict, err := s.Owner.Judge()
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%.12s\t%s\t%d\t%s\t%s\t%s\t%t\n",
			l.ID, s.Run, s.Index+1, l.State, time.Since(s.Created).Round(time.Second), verdict, s.Keep)
	}
	return w.Flush()
}

func (a *app) newSweep() *cobra.Command {
	var name string
	var dryRun bool
	c := &cobra.Command{
		Use:   "sweep",
		Short: "Remove shards whose owner is provably dead",
		Long: `Removes the shards that a killed berth left on an engine. Every run does so at its start. A shard
is removed only when its owner ran on this machine and is provably gone; never a kept one, and
never one of another machine or another container's berth.`,
		Example: `  berth sweep --dry-run
  berth sweep`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withEngine(c.Context(), name, func(ctx context.Context, engine backends.Backend) error {
				return sweep(ctx, engine, dryRun, c)
			})
		},
	}
	c.Flags().StringVar(&name, "runner", eval.RunnerPodman, "the container `ENGINE`: podman or containerd")
	c.Flags().BoolVar(&dryRun, "dry-run", false, "only tell")
	return c
}

func sweep(ctx context.Context, engine backends.Backend, dryRun bool, c *cobra.Command) error {
	verb := "removed"
	if dryRun {
		verb = "would remove"
	}
	swept, err := owner.Sweep(ctx, engine, dryRun)
	for _, s := range swept {
		fmt.Fprintf(c.OutOrStdout(), "%s %s of run %s\n", verb, s.Name, s.Run)
	}
	if err == nil && len(swept) == 0 {
		fmt.Fprintln(c.ErrOrStderr(), "no shard of a dead owner is here")
	}
	return err
}
