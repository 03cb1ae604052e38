package eval

import (
	"encoding/json"
	"sync"

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
	shards  map[shardproto.Key]int
	secrets *redact.Set

	mu     sync.Mutex
	trials map[shardproto.Key]*results.Trial
}

// newRecorder is for what bundles are to bring, and starts from the trials that a resumed run has already.
func newRecorder(run *results.Run, e *evalconfig.Eval, bundles []shardproto.Bundle, secrets *redact.Set, had map[shardproto.Key]*results.Trial) *recorder {
	r := &recorder{
		run: run, dataset: map[string]string{}, shards: shardsOf(bundles), secrets: secrets,
		trials: map[shardproto.Key]*results.Trial{},
	}
	for _, c := range e.Cases {
		r.dataset[c.ID] = c.Dataset
	}
	for k, t := range had {
		r.trials[k] = t
	}
	return r
}

// shardsOf tells which shard each trial goes to, by index.
func shardsOf(bundles []shardproto.Bundle) map[shardproto.Key]int {
	of := map[shardproto.Key]int{}
	for _, b := range bundles {
		for _, batch := range b.Batches {
			for _, q := range batch.Requests {
				of[shardproto.Key{Variant: batch.Variant, CaseID: q.CaseID, Trial: q.Trial}] = b.Shard.Index
			}
		}
	}
	return of
}

// Trial implements runner.Recorder.
func (r *recorder) Trial(k shardproto.Key, res client.Result) error {
	t, err := r.masked(results.FromResult(r.run.Record().RunID, r.dataset[k.CaseID], k, res))
	if err != nil {
		return err
	}
	if shard, ok := r.shards[k]; ok {
		t.Shard = &shard
	}
	return r.save(k, t)
}

// CleanedUp implements runner.Recorder, for clients that tell of a batch's life. What one says that has
// ended it by itself stays.
func (r *recorder) CleanedUp(keys []shardproto.Key, c shardproto.Cleanup) error {
	for _, k := range keys {
		t, ok := r.trial(k)
		if !ok {
			continue
		}
		life, ok := t.ClientTelemetry["batchLifecycle"].(map[string]any)
		if !ok || life["cleanupStatus"] != client.NotStarted {
			continue
		}
		life["cleanupStatus"], life["cleanupDurationMs"] = c.Status, c.DurationMs
		if err := r.save(k, *t); err != nil {
			return err
		}
	}
	return nil
}

func (r *recorder) trial(k shardproto.Key) (*results.Trial, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t, ok := r.trials[k]
	return t, ok
}

func (r *recorder) save(k shardproto.Key, t results.Trial) error {
	if err := r.run.SaveTrial(t); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trials[k] = &t
	return nil
}

// masked takes known secrets out of everything a trial says: an agent may well print its token.
func (r *recorder) masked(t results.Trial) (results.Trial, error) {
	body, err := json.Marshal(t)
	if err != nil {
		return t, err
	}
	var out results.Trial
	return out, json.Unmarshal(r.secrets.Bytes(body), &out)
}

// readiness is what was proved before each variant's first prompt. Shards prove the same things of a
// variant, so any trial's word does.
func (r *recorder) readiness() map[string]any {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := map[string]any{}
	for k, t := range r.trials {
		if ready, ok := t.ClientMetadata["nativeReadiness"]; ok {
			out[k.Variant] = ready
		}
	}
	return out
}

func (r *recorder) collected() map[shardproto.Key]*results.Trial {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.trials
}
