package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/berth-run/berth/internal/runner"
	"github.com/berth-run/berth/session/client/codex"
)

// groups say how often berth pays for a step, and in which order the table has them.
var groups = []struct {
	name  string
	steps []string
}{
	{"a trial", []string{codex.StepHome, codex.StepConfig, codex.StepLogin, codex.StepSpawn, stepRecord, codex.StepStop,
		codex.StepRollout, codex.StepTeardown, stepBetween, runner.StepFetch, runner.StepSave}},
	{"a variant", []string{stepBatches}},
	{"a shard", []string{"create", "start", "channel", "selfcheck", "bundle", "inference", runner.StepEvidence, "shutdown", "remove"}},
	{"a run", []string{stepRest}},
}

// printBills has every step as its share of one trial.
func printBills(w io.Writer, bills []bill) {
	t := table{head: []string{"once", "step", "ms per trial"}}
	row := func(once, step string, of func(bill) float64) {
		s := each(bills, of)
		if slices.Max(s) > 0 {
			t.add(once, step, s.spread())
		}
	}
	known := map[string]bool{}
	for _, g := range groups {
		for _, step := range g.steps {
			known[step] = true
			row(g.name, step, func(b bill) float64 { return b.berth[step] / float64(b.trials) })
		}
	}
	for step := range bills[0].berth {
		if !known[step] {
			row("?", step, func(b bill) float64 { return b.berth[step] / float64(b.trials) })
		}
	}
	overhead := each(bills, bill.overhead)
	t.add("", "**berth, together**", overhead.spread())
	for _, step := range codexSteps {
		row("a trial", "Codex: "+step, func(b bill) float64 { return b.codex[step] / float64(b.trials) })
	}
	own := each(bills, bill.codexTime)
	t.add("", "**Codex, together**", own.spread())
	t.print(w)
	fmt.Fprintf(w, "\n%d trials a run, one after the other in one shard; the model answers at once.\n", bills[0].trials)
	share := each(bills, func(b bill) float64 { return b.overhead() / (b.overhead() + b.codexTime()) })
	printRatios(w, verdict{"overhead/trial", share.median()})
}

func each(bills []bill, of func(bill) float64) sample {
	var s sample
	for _, b := range bills {
		s = append(s, of(b))
	}
	return s
}
