package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/berth-run/berth/internal/results"
	"github.com/berth-run/berth/internal/runner"
	"github.com/berth-run/berth/session/client/codex"
)

// sampleDir is the eval that is run, from the checkout's root.
const sampleDir = "testdata/sample"

// benchRun runs the sample eval in one shard again and again, with the scripted gateway, and says
// where the time of `berth run` goes: to Codex itself, by its trials' own steps, and to each step of
// berth's. All that isn't Codex's is shared out among the trials.
func benchRun(ctx context.Context, r *rig, n rounds, w io.Writer) error {
	r.printHead(w, "run", n)
	var bills []bill
	_, err := n.alternate(ctx, way{"berth run", func(ctx context.Context) (time.Duration, error) {
		b, err := r.billedRun(ctx)
		bills = append(bills, b)
		return 0, err
	}})
	if err != nil {
		return err
	}
	printBills(w, bills[n.warmup:])
	return nil
}

// bill is where the time of one run went, in milliseconds.
type bill struct {
	trials int
	whole  float64
	// codex is Codex's own time by step, summed over the trials; berth is everything else.
	codex, berth map[string]float64
}

// billedRun is one `berth run`.
func (r *rig) billedRun(ctx context.Context) (bill, error) {
	dir, err := os.MkdirTemp("", "berth-bench-")
	if err != nil {
		return bill{}, err
	}
	defer os.RemoveAll(dir)
	took, err := timed(func() error { return r.berthRun(ctx, sampleDir+"/codex.json", sampleDir+"/script.json", dir) })
	if err != nil {
		return bill{}, err
	}
	run, err := results.Open(dir, "latest")
	if err != nil {
		return bill{}, err
	}
	trials, err := run.Trials()
	if err != nil {
		return bill{}, err
	}
	shards := run.Record().Runner.Shards
	if len(shards) != 1 || len(trials) == 0 || shards[0].Finished != len(trials) {
		return bill{}, fmt.Errorf("the sample gave %d trials in %d shards", len(trials), len(shards))
	}
	b := newBill(milliseconds(took), shards[0].StepsMs)
	for _, t := range trials {
		b.add(t)
	}
	return b, nil
}

// berthRun runs an eval in one shard, answered by a script.
func (r *rig) berthRun(ctx context.Context, config, script, out string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	args := []string{"run", "--config", config, "--runner", "podman", "--script", script, "--output-dir", out}
	if c := r.info.Capabilities; !c.MemoryLimit || !c.PidsLimit {
		args = append(args, "--runner-option", "limits="+runner.LimitsBestEffort)
	}
	cmd := exec.CommandContext(ctx, filepath.Join(filepath.Dir(self), "berth"), args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		return errors.Join(fmt.Errorf("berth run: %w", err), errors.New(said.String()))
	}
	return nil
}

// Steps that no clock of a shard or a trial has: what remains of the whole when its parts are taken away.
const (
	stepRest    = "engine, plan, grade, report"
	stepBatches = "batches: app's version, MCP preflight, one start of Codex to prove it"
	stepBetween = "between steps"
	stepRecord  = "turn, beyond Codex's clock"
	// stepCollect has the trials in it.
	stepCollect = "collect"
)

// newBill starts from a run's whole time and its shard's steps.
func newBill(whole float64, shard map[string]float64) bill {
	b := bill{whole: whole, codex: map[string]float64{}, berth: map[string]float64{stepRest: whole}}
	for name, ms := range shard {
		switch name {
		case stepCollect:
			b.berth[stepBatches] += ms
		case runner.StepFetch, runner.StepSave, runner.StepEvidence: // in collect
			b.berth[name] = ms
			b.berth[stepBatches] -= ms
			continue
		default:
			b.berth[name] = ms
		}
		b.berth[stepRest] -= ms
	}
	return b
}

// codexSteps are the app's own: berth waits in them. All of a turn that Codex's clock has is too.
var codexSteps = []string{codex.StepInitialize, codex.StepThread, codex.StepServers, codex.StepCodexTurn}

// add takes one trial out of the shard's time.
func (b *bill) add(t *results.Trial) {
	b.trials++
	between := float64(t.DurationMs)
	b.berth[stepBatches] -= between
	own := map[string]bool{}
	for _, name := range codexSteps {
		own[name] = true
		b.codex[name] += t.Steps[name]
	}
	for name, ms := range t.Steps {
		switch {
		case name == codex.StepTurn:
			b.berth[stepRecord] += ms - t.Steps[codex.StepCodexTurn]
			between -= ms
		case name == codex.StepCodexTurn: // in the turn
		case own[name]:
			between -= ms
		default:
			b.berth[name] += ms
			between -= ms
		}
	}
	b.berth[stepBetween] += between
}

// overhead is what berth took for each trial, codexTime what Codex did.
func (b bill) overhead() float64  { return (b.whole - b.own()) / float64(b.trials) }
func (b bill) codexTime() float64 { return b.own() / float64(b.trials) }

func (b bill) own() float64 {
	var sum float64
	for _, ms := range b.codex {
		sum += ms
	}
	return sum
}
