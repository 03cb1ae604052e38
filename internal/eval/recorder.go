package eval

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/berth-run/berth/internal/channel/archive"
	"github.com/berth-run/berth/internal/evalconfig"
	"github.com/berth-run/berth/internal/redact"
	"github.com/berth-run/berth/internal/results"
	"github.com/berth-run/berth/internal/shardproto"
	"github.com/berth-run/berth/session/client"
)

// recorder puts what the shards send back into the run's folder. It implements runner.Recorder.
type recorder struct {
	run     *results.Run
	dataset map[string]string // by case id
	secrets *redact.Set

	mu     sync.Mutex
	trials map[shardproto.Key]*results.Trial
}

// newRecorder starts from the trials that a resumed run has already.
func newRecorder(run *results.Run, e *evalconfig.Eval, secrets *redact.Set, had map[shardproto.Key]*results.Trial) *recorder {
	r := &recorder{run: run, dataset: map[string]string{}, secrets: secrets, trials: map[shardproto.Key]*results.Trial{}}
	for _, c := range e.Cases {
		r.dataset[c.ID] = c.Dataset
	}
	for k, t := range had {
		r.trials[k] = t
	}
	return r
}

// Trial implements runner.Recorder.
func (r *recorder) Trial(k shardproto.Key, res client.Result) error {
	t := results.FromResult(r.run.Record().RunID, r.dataset[k.CaseID], k, res)
	if err := r.run.SaveTrial(t); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trials[k] = &t
	return nil
}

// Evidence implements runner.Recorder: artifacts/shard-<n>/ gets what the shard's clients kept.
func (r *recorder) Evidence(shard int, tar io.Reader) error {
	artifacts, err := r.run.ArtifactsDir()
	if err != nil {
		return err
	}
	dir := filepath.Join(artifacts, "shard-"+strconv.Itoa(shard))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return archive.Unpack(root, tar, archive.Limits{})
}

func (r *recorder) collected() map[shardproto.Key]*results.Trial {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.trials
}
