package main

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/berth-run/berth/internal/eval"
	"github.com/berth-run/berth/internal/results"
)

type evidenceFlags struct {
	eval.Question
	outputDir, store string
	json             bool
}

func newEvidence() *cobra.Command {
	var f evidenceFlags
	c := &cobra.Command{
		Use:   "evidence RUN [CASE]",
		Short: "Show what was kept of a failed trial, and why it most likely failed",
		Long: `Lists what came home of a trial: a screenshot, the tree of the app's window, the driver's steps, the app's
log, Codex's record; and says the likely cause in a sentence. That is judged from these files alone, not
from the trial's error, so it's a second opinion. Without CASE it does so for every trial that failed.

RUN is a run's folder, its id, the last six characters of it, or latest.`,
		Example: `  berth evidence latest
  berth evidence latest rb-001
  berth evidence 20261129T101112Z-a1b2c3 rb-001 --variant both --trial 2 --json`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(c *cobra.Command, args []string) error { return showEvidence(c, args, f) },
	}
	fl := c.Flags()
	fl.StringVar(&f.Variant, "variant", "", "only of the variant of this `NAME`")
	fl.IntVar(&f.Trial, "trial", -1, "only the trial of this `NUMBER`, from 0")
	fl.IntVar(&f.Shard, "shard", -1, "only what came from the shard of this `NUMBER`, from 0")
	fl.StringVar(&f.outputDir, "output-dir", "", "the `DIR` of the eval's runs (default: any below --store)")
	fl.StringVar(&f.store, "store", results.DefaultDir, "the `DIR` that holds the evals' folders")
	fl.BoolVar(&f.json, "json", false, "print it as JSON, a list of trials")
	return c
}

func showEvidence(c *cobra.Command, args []string, f evidenceFlags) error {
	run, err := results.FindRun(f.store, f.outputDir, args[0])
	if err != nil {
		return err
	}
	if len(args) > 1 {
		f.Case = args[1]
	}
	all, err := eval.Explain(run, f.Question)
	if err != nil {
		return err
	}
	if !f.json {
		return eval.WriteExplained(c.OutOrStdout(), all)
	}
	out := json.NewEncoder(c.OutOrStdout())
	out.SetIndent("", "  ")
	return out.Encode(append([]eval.Explained{}, all...))
}
