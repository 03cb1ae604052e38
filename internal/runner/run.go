package runner

import (
	"context"
	"io"
	"net/http"
	"slices"
	"sync"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/redact"
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
	// Bundles has one entry for each shard of the plan; a shard without a case isn't in it.
	Bundles []shardproto.Bundle
	// Labels gives a shard's owner labels.
	Labels    func(shard int) map[string]string
	Inference Inference
	// ServerToken gives an MCP server's bearer by its label, for need-tokens.
	ServerToken func(ctx context.Context, label string) (shardproto.Token, error)
	// Limits are the config's, as "provider:NAME" and "server:LABEL".
	Limits   map[string]int
	Recorder Recorder
	// Progress gets a line for each thing that happens; nil for nobody.
	Progress io.Writer
	Secrets  *redact.Set
	// Drain, once closed, ends the run gracefully: current trials are cancelled, what was finished
	// stays, and a shard that has no trial yet is taken down at once.
	Drain <-chan struct{}
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
	// CleanedUp notes of trials that were saved what the end of their batch came to.
	CleanedUp(keys []shardproto.Key, c shardproto.Cleanup) error
	// Evidence unpacks a shard's evidence folder, a tar stream.
	Evidence(shard int, tar io.Reader) error
}

// common is what a run's shards share.
type common struct {
	*Run
	log    *progress
	stops  *stops
	places *quota
	room   *room
	// drained ends with the run's Drain, forced when the user ends the run at once.
	drained, forced context.Context
}

// Do runs every shard and returns when all of them are taken down. A cancelled ctx takes them down at
// once, those to be kept too.
func (r *Run) Do(ctx context.Context) Outcome {
	log := newProgress(r.Progress, r.Secrets)
	c, stop := r.common(ctx, log, r.Drain)
	defer stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	shards := make([][]ShardOutcome, len(r.Bundles))
	var wg sync.WaitGroup
	for i := range r.Bundles {
		wg.Go(func() {
			shards[i] = c.inShards(ctx, &r.Bundles[i])
			if c.fatal(shards[i][len(shards[i])-1].Err) {
				cancel(code.Errorf(code.Cancelled, "shard %s ended the run", ordinal(r.Bundles[i].Shard)))
			}
		})
	}
	wg.Wait()
	out := Outcome{Shards: slices.Concat(shards...)}
	c.stops.close(out.SetupError())
	return out
}

// common is for shards that end at once with ctx, and gracefully with drained.
func (r *Run) common(ctx context.Context, log *progress, drained <-chan struct{}) (_ *common, stop func()) {
	c := &common{
		Run: r, log: log, stops: newStops(log), places: newQuota(r.Limits), room: r.newRoom(log), forced: ctx,
	}
	c.drained, stop = closed(drained)
	return c, stop
}

// fatal tells a failure that every other shard of the run would meet as well. That the model can't be
// reached is one until a shard has reached it.
func (c *common) fatal(err error) bool {
	return verdict(err) || code.Of(err) == code.InferenceUnavailable && !c.stops.begun()
}

// closed is a context that ends when ch is closed, which is watched until stop.
func closed(ch <-chan struct{}) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	select {
	case <-ch:
		cancel() // now and not soon: nothing is to start
		return ctx, cancel
	default:
	}
	stopped := make(chan struct{})
	go func() {
		select {
		case <-ch:
			cancel()
		case <-stopped:
		}
	}()
	return ctx, func() { close(stopped) }
}
