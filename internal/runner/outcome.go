package runner

import (
	"time"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/selfcheck"
	"github.com/berth-run/berth/internal/shardproto"
	"github.com/berth-run/berth/session/client"
)

// Outcome is what became of a run's shards, in the order of its bundles; one that was replaced comes
// before the next of its bundle.
type Outcome struct {
	Shards []ShardOutcome
}

// SetupError is why no shard got as far as its first trial. It's nil when one did, when none was
// needed, and when the user ended the run before.
func (o Outcome) SetupError() error {
	var first error
	for _, s := range o.Shards {
		if s.Started {
			return nil
		}
		if first == nil && code.Of(s.Err) != code.Cancelled {
			first = s.Err
		}
	}
	return first
}

// ShardOutcome is one shard's. Its texts are redacted.
type ShardOutcome struct {
	Shard shardproto.Shard
	// ID is the container's, and Kept tells that it's still there because it was to be.
	ID   string
	Kept bool
	// Started: the shard got as far as its first trial could run. Until then a failure is one of set-up.
	Started bool
	// Err is why the shard didn't end as it should, with a code of package code; nil when it did.
	Err error
	// Left is why the container couldn't be removed: ErrLeft.
	Left error
	// Check is the shard's self-check.
	Check selfcheck.Report
	// Client is the app under test as the worker met it.
	Client client.Info
	// Steps times set-up and clean-up.
	Steps Steps
	// Finished counts trials that came back; Missing are the others, with the reason, but for those that
	// another shard was given.
	Finished int
	Missing  []Missing
}

// Missing is a trial that didn't come back.
type Missing struct {
	Key    shardproto.Key
	Reason string
}

// Steps is how long each part of a shard's life took, by name.
type Steps map[string]time.Duration

// Names of steps that are part of another, "collect", and summed over the shard's trials.
const (
	StepFetch    = "fetch"
	StepSave     = "save"
	StepEvidence = "evidence"
)

func (s Steps) time(name string, f func() error) error {
	start := time.Now()
	err := f()
	s[name] += time.Since(start)
	return err
}

// mostMs bounds what a worker may say a step took, some days.
const mostMs = 1e9

// add takes what the worker timed.
func (s Steps) add(ms map[string]float64) {
	for name, v := range ms {
		if 0 <= v && v <= mostMs {
			s[name] += time.Duration(v * float64(time.Millisecond))
		}
	}
}
