package eval

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/evalconfig"
	"github.com/berth-run/berth/internal/gateway"
	"github.com/berth-run/berth/internal/owner"
	"github.com/berth-run/berth/internal/plan"
	"github.com/berth-run/berth/internal/redact"
	"github.com/berth-run/berth/internal/results"
	"github.com/berth-run/berth/internal/runner"
	"github.com/berth-run/berth/internal/selfcheck"
	"github.com/berth-run/berth/internal/shardproto"
	"github.com/berth-run/berth/internal/version"
	"github.com/berth-run/berth/oci"
	"github.com/berth-run/berth/session/client"
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
}

// Run runs an eval. An error means that nothing ran, or that what ran can't be told; a run whose
// shards failed has a Result that says so.
func Run(ctx context.Context, q Request) (*Result, error) {
	secrets := &redact.Set{}
	r, err := q.prepare(ctx, secrets)
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
}

// prepare does all that can fail before a shard exists, the cheap and likely first.
func (q Request) prepare(ctx context.Context, secrets *redact.Set) (_ *run, err error) {
	tokens, err := newServerTokens(q.Eval, q.SecretsFile, secrets)
	if err != nil {
		return nil, err
	}
	w, err := openWay(q.Script, q.GatewayLog, q.Credential, secrets)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = also(err, w.close())
		}
	}()
	info, err := q.engineInfo(ctx)
	if err != nil {
		return nil, err
	}
	app, err := imageClient(q.Eval)
	if err != nil {
		return nil, err
	}
	img, err := findImage(ctx, q.Engine, info.Arch, app, q.Image)
	if err != nil {
		return nil, err
	}
	self, err := owner.Self()
	if err != nil {
		return nil, err
	}
	r := &run{Request: q, way: w}
	spec := q.spec()
	net := network(q.Network, q.Eval, w.Mode())
	had, err := r.openFolder(info, img, spec, net)
	if err != nil {
		return nil, err
	}
	id := r.folder.Record().RunID
	p, err := plan.New(id, q.Eval, q.Options.Shards, func(k shardproto.Key) bool { return had[k] != nil })
	if err != nil {
		return nil, err
	}
	for i := range p.Bundles {
		p.Bundles[i].Inference = w.bundle()
	}
	r.recorder = newRecorder(r.folder, q.Eval, secrets, had)
	r.shards = &runner.Run{
		ID: id, Backend: q.Engine, Image: img.Ref, Spec: spec, Network: net, Options: q.Options,
		Bundles: p.Bundles, Inference: w.shards(q.Eval), ServerToken: tokens.Token, Limits: limits(q.Eval),
		Recorder: r.recorder, Progress: q.Progress, Secrets: secrets, Drain: q.Drain,
		Labels: func(shard int) map[string]string {
			return owner.Shard{
				Run: id, Index: shard, Created: time.Now(), Keep: q.Keep != runner.KeepNever, Owner: self,
			}.Labels()
		},
	}
	return r, nil
}

// spec is a shard's, from the options.
func (q Request) spec() oci.ShardSpec {
	return oci.ShardSpec{
		Args:        []string{oci.WorkerPath, "init", "--deadman", q.Deadman.String()},
		MemoryBytes: q.Memory,
		Pids:        q.Pids,
	}
}

// openFolder makes the run's folder, or opens the one to resume with the trials it has.
func (r *run) openFolder(info backends.Info, img backends.Image, spec oci.ShardSpec, net string) (had map[shardproto.Key]*results.Trial, err error) {
	if r.Resume != "" {
		if r.folder, err = results.Open(r.EvalDir, r.Resume); err != nil {
			return nil, err
		}
		return r.folder.Resume(r.Eval)
	}
	now := time.Now()
	env := results.Environment{
		Name: r.Runner, Shards: r.Options.Shards, Options: r.Options.Given(),
	}
	if r.Keep != runner.KeepNever {
		env.Keep = r.Keep
	}
	rec := results.NewRecord(results.NewRunID(now), r.Eval, env, r.facts(info, img, spec, net), now)
	r.folder, err = results.Create(r.EvalDir, rec)
	return nil, err
}

// facts is what only berth records of a run.
func (r *run) facts(info backends.Info, img backends.Image, spec oci.ShardSpec, net string) *results.Runner {
	f := &results.Runner{
		Name:      r.Runner,
		Engine:    results.Engine{Name: info.Name, Version: info.Version, Runtime: info.Runtime, Rootless: info.Rootless, Remote: info.Remote},
		Image:     results.Image{Ref: img.Ref, Digest: img.Digest},
		Versions:  map[string]string{"berth": version.Version},
		Inference: r.way.Mode(), Credential: r.Credential, Network: net,
		LimitsMode: "enforced",
		Notes:      []string{"the app's own sandbox is off: the shard is the boundary"},
	}
	if r.way.Mode() == client.ModeAPIKey {
		f.Credential = client.ModeAPIKey
	}
	if r.Limits == runner.LimitsBestEffort {
		f.LimitsMode = runner.LimitsBestEffort
	}
	if r.way.scripted {
		f.Notes = append(f.Notes, "answered by a script, not by a model")
	}
	if s, err := spec.Spec(); err == nil {
		e := selfcheck.FromSpec(s, net)
		f.Limits = results.Limits{MemoryBytes: e.MemoryBytes, Pids: e.Pids, CPUWeight: e.CPUWeight}
	}
	return f
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
	return r.folder.Finish(r.Eval, r.recorder.collected(), !r.NoGrade, time.Now())
}

// note adds to the record what only a shard could tell.
func (r *run) note(f *results.Runner, s runner.ShardOutcome) {
	for _, name := range selfcheck.Missing(s.Check.Limits) {
		if !slices.Contains(f.NotEnforced, name) {
			f.NotEnforced = append(f.NotEnforced, name)
		}
	}
	if s.Client.Name != "" {
		f.Versions[s.Client.Name] = s.Client.Version
	}
}

func (r *run) shardRecord(s runner.ShardOutcome) results.Shard {
	rec := results.Shard{
		Index: s.Shard.Index, Container: s.ID, Kept: s.Kept, Finished: s.Finished, StepsMs: map[string]float64{},
	}
	if err := also(s.Err, s.Left); err != nil {
		rec.Error = code.Line(err.Error())
	}
	for name, d := range s.Steps {
		rec.StepsMs[name] = float64(d.Microseconds()) / 1000
	}
	for _, m := range s.Missing {
		rec.Missing = append(rec.Missing, results.MissingTrial{Variant: m.Key.Variant, CaseID: m.Key.CaseID, Trial: m.Key.Trial, Reason: m.Reason})
	}
	return rec
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
