package eval

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/internal/clock"
	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/evalconfig"
	"github.com/berth-run/berth/internal/gateway"
	"github.com/berth-run/berth/internal/owner"
	"github.com/berth-run/berth/internal/plan"
	"github.com/berth-run/berth/internal/redact"
	"github.com/berth-run/berth/internal/results"
	"github.com/berth-run/berth/internal/runner"
	"github.com/berth-run/berth/internal/shardproto"
	"github.com/berth-run/berth/oci"
)

// Request is `berth run`.
type Request struct {
	Eval   *evalconfig.Eval
	Runner string
	Engine backends.Backend
	runner.Options
	// EvalDir is the eval's folder of runs.
	EvalDir string
	// Resume names a run to complete, "" for a new one.
	Resume      string
	NoGrade     bool
	SecretsFile string
	// Script takes the place of a model; nil uses the environment's way to one.
	Script     *gateway.Script
	GatewayLog string
	Progress   io.Writer
	Drain      <-chan struct{}
	// Now is the wall clock; nil is time.Now.
	Now func() time.Time
}

// Run runs an eval. An error means that nothing ran, or that what ran can't be told; a run whose
// shards failed has a Result that says so.
func Run(ctx context.Context, q Request) (*Result, error) {
	secrets := &redact.Set{}
	var r *run
	err := q.early(ctx, func(ctx context.Context) (err error) {
		r, err = q.prepare(ctx, secrets)
		return err
	})
	if err != nil {
		return nil, secrets.Error(err)
	}
	defer r.way.close() // the gateway's log, after every request is answered
	r.sweep(ctx)
	out := r.shards.Do(ctx)
	f, err := r.finish(out)
	if err != nil {
		return nil, secrets.Error(fmt.Errorf("%w: %w", ErrUnfinished, err))
	}
	return &Result{Finished: f, Outcome: out, run: r.folder}, nil
}

// also is err, and what went wrong besides, in one line.
func also(err, besides error) error {
	switch {
	case besides == nil:
		return err
	case err == nil:
		return besides
	}
	return fmt.Errorf("%w; besides: %w", err, besides)
}

// run is a request with everything looked up.
type run struct {
	Request
	way      *way
	folder   *results.Run
	recorder *recorder
	shards   *runner.Run
	// now tells the run's time: its end doesn't come before its beginning, whatever the clock is set to.
	now func() time.Time
}

// prepare does all that can fail before a shard exists, the cheap and likely first.
func (q Request) prepare(ctx context.Context, secrets *redact.Set) (_ *run, err error) {
	if q.Now == nil {
		q.Now = time.Now
	}
	r := &run{Request: q, now: clock.Steady(q.Now)}
	tokens, err := newServerTokens(q.Eval, q.SecretsFile, secrets)
	if err != nil {
		return nil, err
	}
	if r.way, err = openWay(q.Script, q.GatewayLog, q.Credential, secrets); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = also(err, r.way.close())
		}
	}()
	net, err := network(q.Network, q.Eval, r.way.Mode())
	if err != nil {
		return nil, err
	}
	app, err := imageClient(q.Eval)
	if err != nil {
		return nil, err
	}
	info, err := q.Engine.Info(ctx)
	if err != nil {
		return nil, err
	}
	if err := hasNetwork(net, q.Network, info); err != nil {
		return nil, err
	}
	img, err := q.chosenImage(ctx, info.Arch, app)
	if err != nil {
		return nil, err
	}
	r.shards = &runner.Run{
		Backend: q.Engine, Image: img.Ref, Spec: q.spec(), Network: net, Options: q.Options,
		Inference: r.way.shards(q.Eval), ServerToken: tokens.Token, Limits: limits(q.Eval),
		Progress: q.Progress, Secrets: secrets, Drain: q.Drain,
	}
	return r, r.plan(ctx, info, img, secrets)
}

// plan gives the run its folder, and the shards what there is to do in it.
func (r *run) plan(ctx context.Context, info backends.Info, img backends.Image, secrets *redact.Set) error {
	self, err := owner.Self()
	if err != nil {
		return err
	}
	had, err := r.resumed()
	if err != nil {
		return err
	}
	done := func(k shardproto.Key) bool { return had[k] != nil }
	r.chooseShards(ctx, info, plan.Cases(r.Eval, done))
	if err := r.openFolder(info, img); err != nil {
		return err
	}
	id := r.folder.Record().RunID
	p, err := plan.New(id, r.Eval, r.Options.Shards, done)
	if err != nil {
		return err
	}
	for i := range p.Bundles {
		p.Bundles[i].Inference = r.way.bundle()
		p.Bundles[i].WarmProfile = r.Profile == runner.ProfileWarm
	}
	r.recorder = newRecorder(r.folder, r.Eval, p.Bundles, secrets, had)
	r.shards.ID, r.shards.Bundles, r.shards.Recorder = id, p.Bundles, r.recorder
	r.shards.Labels = func(shard int) map[string]string {
		return owner.Shard{Run: id, Index: shard, Created: r.now(), Keep: r.Keep != runner.KeepNever, Owner: self}.Labels()
	}
	return nil
}

// spec is a shard's, from the options.
func (q Request) spec() oci.ShardSpec {
	return oci.ShardSpec{
		Args:        []string{oci.WorkerPath, "init", "--deadman", q.Deadman.String(), "--heartbeat", q.Heartbeat().String()},
		MemoryBytes: q.Memory,
		Pids:        q.Pids,
		CPUWeight:   uint64(q.CPUWeight),
	}
}

// limits are the config's, named as the runner counts them.
func limits(e *evalconfig.Eval) map[string]int {
	m := map[string]int{}
	for name, n := range e.Config.Limits.Providers {
		m["provider:"+name] = n
	}
	for label, n := range e.Config.Limits.Servers {
		m["server:"+label] = n
	}
	return m
}

// sweep takes away what dead runs left. That it can't doesn't stop this run.
func (r *run) sweep(ctx context.Context) {
	swept, err := owner.Sweep(ctx, r.Engine, false)
	for _, s := range swept {
		fmt.Fprintf(r.Progress, "[berth] removed %s, left by run %s\n", code.Line(s.Name), code.Line(s.Run))
	}
	if err != nil {
		fmt.Fprintf(r.Progress, "[berth] sweep: %s\n", code.Line(err.Error()))
	}
}

// finish grades what came back and writes the ends of the folder.
func (r *run) finish(out runner.Outcome) (*results.Finished, error) {
	err := r.folder.Update(func(rec *results.Record) {
		if rec.Runner == nil { // a run that mst made and berth resumes
			rec.Runner = &results.Runner{Name: r.Runner, Versions: map[string]string{}}
		}
		for _, s := range out.Shards {
			r.note(rec.Runner, s)
			rec.Runner.Shards = append(rec.Runner.Shards, r.shardRecord(s))
		}
		rec.Runner.NativeReadiness = r.recorder.readiness()
	})
	if err != nil {
		return nil, err
	}
	return r.folder.Finish(r.Eval, r.recorder.collected(), !r.NoGrade, r.now())
}

// EvalDir is where an eval's runs go: --output-dir, the config's results.store, or the default.
func EvalDir(cfg *evalconfig.Config, outputDir, store string) string {
	base := results.DefaultDir
	switch {
	case store != "":
		base = store
	case cfg.ResultsDir != "":
		base = cfg.ResultsDir
	}
	return results.EvalDir(outputDir, filepath.Clean(base), cfg.Name)
}
