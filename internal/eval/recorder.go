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
	t, err := r.masked(results.FromResult(r.run.Record().RunID, r.dataset[k.CaseID], k, res))
	if err != nil {
		return err
	}
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
