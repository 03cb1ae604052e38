package runner

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/internal/channel"
	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/redact"
	"github.com/berth-run/berth/internal/selfcheck"
	"github.com/berth-run/berth/internal/shardproto"
	"github.com/berth-run/berth/oci"
	"github.com/berth-run/berth/session/client"
)

// Run is one run, resolved: nothing in it is looked up any more.
type Run struct {
	ID      string
	Backend backends.Backend
	// Image is the reference every shard is made from.
	Image   string
	Spec    oci.ShardSpec
	Network string
	Options Options
	// Bundles has one entry a shard; a shard without a case isn't in it.
	Bundles []shardproto.Bundle
	// Labels gives a shard's owner labels.
	Labels    func(shard int) map[string]string
	Inference Inference
	// ServerToken gives an MCP server's bearer by its label, for need-tokens.
	ServerToken func(ctx context.Context, label string) (shardproto.Token, error)
	// Limits are the config's, as "provider:NAME" and "server:LABEL".
	Limits   map[string]int
	Recorder Recorder
	Progress io.Writer
	Secrets  *redact.Set
	// Drain, once closed, ends the run gracefully: current trials are cancelled, what was finished stays.
	Drain <-chan struct{}
	// Silence overrides the limit after which a worker that says nothing is given up; 0 is the contract's 60 s.
	Silence time.Duration
}

// Inference is the coordinator's end of the way to the model.
type Inference struct {
	// Mode is client.ModeGateway or client.ModeAPIKey.
	Mode string
	// Handler answers the shard's tunnel; nil in api-key mode.
	Handler func(shard int) http.Handler
	// Probe is the path of the models list below the tunnel's address.
	Probe string
	// Provide writes the credential now and again for as long as ctx lives. It returns after the
	// first write; later failures are told to warn.
	Provide func(ctx context.Context, shard int, write func(context.Context, []byte) error, warn func(error)) error
	// Models are those the bundle uses; one the gateway doesn't list is said before anything runs.
	Models []string
}

// Recorder takes what comes back, as it comes back. Calls come from several shards at once.
type Recorder interface {
	// Trial saves one finished trial; an error ends the run, since later ones couldn't be saved either.
	Trial(key shardproto.Key, r client.Result) error
	// Evidence unpacks a shard's evidence folder, a tar stream.
	Evidence(shard int, tar io.Reader) error
}

// Outcome is what became of a run's shards.
type Outcome struct {
	Shards []ShardOutcome
}

// ShardOutcome is one shard's.
type ShardOutcome struct {
	Shard shardproto.Shard
	// ID is the container's, and Kept tells that it's still there.
	ID   string
	Kept bool
	// Started: the shard got as far as its first trial could run. Until then a failure is one of set-up.
	Started bool
	// Err is why the shard didn't end as it should; nil when it did.
	Err error
	// Check is the shard's self-check.
	Check selfcheck.Report
	// Client is the app under test as the worker met it.
	Client client.Info
	// Steps times set-up and clean-up.
	Steps Steps
	// Finished counts trials that came back; Missing are the others, with the reason.
	Finished int
	Missing  []Missing
}

// Missing is a trial that didn't come back.
type Missing struct {
	Key    shardproto.Key
	Reason string
}

// Steps is how long each part of a shard's life took.
type Steps map[string]time.Duration

func (s Steps) time(name string, f func() error) error {
	start := time.Now()
	err := f()
	s[name] += time.Since(start)
	return err
}

// Do runs every shard and returns when all of them are taken down. A cancelled ctx takes them down at once.
func (r *Run) Do(ctx context.Context) Outcome {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p := newProgress(r.Progress, r.Secrets)
	places := newQuota(r.Limits)
	out := Outcome{Shards: make([]ShardOutcome, len(r.Bundles))}
	var wg sync.WaitGroup
	for i := range r.Bundles {
		wg.Go(func() {
			s := newShard(r, &r.Bundles[i], p, places)
			out.Shards[i] = s.live(ctx)
			if fatal(out.Shards[i].Err) {
				cancel(out.Shards[i].Err)
			}
		})
	}
	wg.Wait()
	return out
}

// fatal tells a failure that every other shard of the run would meet as well.
func fatal(err error) bool {
	switch code.Of(err) {
	case code.ProtectionMissing, code.LimitsNotEnforced, code.InferenceUnavailable, code.WorkerMismatch, code.ResultsNotSaved:
		return true
	}
	return false
}

// tunnelBase is where an app in the shard finds the gateway, less the base URL's path.
const tunnelBase = "http://" + channel.TunnelAddr
