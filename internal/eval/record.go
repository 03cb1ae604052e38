package eval

import (
	"slices"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/image"
	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/results"
	"github.com/berth-run/berth/internal/runner"
	"github.com/berth-run/berth/internal/selfcheck"
	"github.com/berth-run/berth/internal/shardproto"
	"github.com/berth-run/berth/internal/version"
	"github.com/berth-run/berth/session/client"
)

// resumed opens the folder of the run to resume, if there is one, and gives the trials it has.
func (r *run) resumed() (had map[shardproto.Key]*results.Trial, err error) {
	if r.Resume == "" {
		return nil, nil
	}
	if r.folder, err = results.Open(r.EvalDir, r.Resume); err != nil {
		return nil, err
	}
	return r.folder.Resume(r.Eval)
}

// openFolder makes a new run's folder.
func (r *run) openFolder(info backends.Info, img backends.Image) (err error) {
	if r.folder != nil {
		return nil
	}
	now := r.now()
	env := results.Environment{
		Name: r.Runner, Shards: r.Options.Shards, Options: r.Options.Given(),
	}
	if r.Keep != runner.KeepNever {
		env.Keep = r.Keep
	}
	rec := results.NewRecord(results.NextRunID(r.EvalDir, now), r.Eval, env, r.facts(info, img), now)
	r.folder, err = results.Create(r.EvalDir, rec)
	return err
}

// facts is what only berth records of a run.
func (r *run) facts(info backends.Info, img backends.Image) *results.Runner {
	f := &results.Runner{
		Name:      r.Runner,
		Engine:    results.Engine{Name: info.Name, Version: info.Version, Runtime: info.Runtime, Rootless: info.Rootless, Remote: info.Remote},
		Image:     results.Image{Ref: img.Ref, Digest: img.Digest},
		Versions:  image.Versions(img.Labels),
		Inference: r.way.Mode(), Credential: r.Credential, Network: r.shards.Network,
		LimitsMode: "enforced",
		Notes:      []string{"the app's own sandbox is off: the shard is the boundary"},
	}
	f.Versions["berth"] = version.Version
	if r.way.Mode() == client.ModeAPIKey {
		f.Credential = client.ModeAPIKey
	}
	if r.Limits == runner.LimitsBestEffort {
		f.LimitsMode = runner.LimitsBestEffort
	}
	if r.Profile == runner.ProfileWarm {
		f.Notes = append(f.Notes, "profile=warm: the app began with state from elsewhere, so that its first-run screens may not have come")
	}
	if r.way.scripted {
		f.Notes = append(f.Notes, "answered by a script, not by a model")
	}
	if s, err := r.shards.Spec.Spec(); err == nil {
		e := selfcheck.FromSpec(s, r.shards.Network)
		f.Limits = results.Limits{MemoryBytes: e.MemoryBytes, Pids: e.Pids, CPUWeight: e.CPUWeight}
	}
	return f
}

// note adds to the record what only a shard could tell.
func (r *run) note(f *results.Runner, s runner.ShardOutcome) {
	for _, name := range selfcheck.Missing(s.Check.Limits) {
		if !slices.Contains(f.NotEnforced, name) {
			f.NotEnforced = append(f.NotEnforced, name)
		}
	}
	if s.Client.Version != "" { // not every app can tell without being started
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
