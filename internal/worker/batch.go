package worker

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/shardproto"
	"github.com/berth-run/berth/session/client"
	"github.com/berth-run/berth/session/client/evidence"
)

// closeWait bounds the clean-up after a batch, which goes on when the batch was cancelled.
const closeWait = 30 * time.Second

// batch runs one variant's trials in order.
func (c *collection) batch(i int, b shardproto.Batch) {
	if c.ctx.Err() != nil || len(b.Requests) == 0 {
		c.counts.Cancelled += len(b.Requests)
		return
	}
	session, err := c.openWatched(i, b)
	if err != nil {
		c.failBatch(i, b, err)
		return
	}
	defer c.close(b.Variant, session)
	for j, r := range b.Requests {
		key := keyOf(b, r)
		if !c.acquire(key) {
			c.counts.Cancelled += len(b.Requests) - j
			return
		}
		c.report(i, j, key, withReadiness(c.trial(session, r), session.Readiness()))
	}
}

func keyOf(b shardproto.Batch, r shardproto.Request) shardproto.Key {
	return shardproto.Key{Variant: b.Variant, CaseID: r.CaseID, Trial: r.Trial}
}

// open readies the app for a batch. All requests of a batch have one config and one set of servers.
func (c *collection) open(i int, b shardproto.Batch) (client.Session, error) {
	first := b.Requests[0]
	app, err := c.w.opts.Clients(first.Config.Type)
	if err != nil {
		return nil, err
	}
	dir := c.w.folders.batchEvidence(i)
	if err := makePrivate(dir); err != nil {
		return nil, code.Errorf(code.EvidenceDirUnsafe, "%w", err)
	}
	servers := slices.Clone(first.Input.Servers)
	for n := range servers {
		servers[n].Token = c.tokens.of(servers[n].Label)
	}
	return app.Open(c.ctx, client.Batch{
		Variant: b.Variant, Model: first.Config.Model, Options: first.Config.Options,
		Servers: servers, Inference: c.inference(), Trials: len(b.Requests), EvidenceDir: dir, ProfileDir: c.profileDir(),
	})
}

// profileDir is where the state is that profiles begin with, "" for none.
func (c *collection) profileDir() string {
	if !c.bundle.WarmProfile {
		return ""
	}
	return filepath.Join(c.w.opts.Home, shardproto.WarmProfile)
}

func (c *collection) close(variant string, s client.Session) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), closeWait)
	defer cancel()
	began := time.Now()
	err := s.Close(ctx)
	if err != nil {
		c.unclean.Store(true)
	}
	c.counts.Cleanups = append(c.counts.Cleanups, shardproto.Cleanup{
		Variant: variant, Status: client.StatusOf(err), DurationMs: time.Since(began).Milliseconds(),
	})
}

// failBatch reports each trial of a batch that couldn't be opened; nothing of it was sent, so none
// asks to be granted. A batch that failed because it was cancelled wasn't run.
func (c *collection) failBatch(i int, b shardproto.Batch, err error) {
	if c.ctx.Err() != nil {
		c.counts.Cancelled += len(b.Requests)
		return
	}
	result := client.Result{
		FailureCode: codeOf(err), Error: c.w.opts.Redact.String(code.Detail(err)), Infrastructure: true, Metadata: map[string]any{},
	}
	var told *client.OpenError
	if errors.As(err, &told) {
		maps.Copy(result.Metadata, told.Metadata)
		result.Telemetry = told.Telemetry
	}
	result.Metadata["artifacts"] = evidence.List(c.w.folders.batchEvidence(i))
	for j, r := range b.Requests {
		c.report(i, j, keyOf(b, r), result)
	}
}

// codeOf is the code of a batch that couldn't be opened.
func codeOf(err error) code.Code { return cmp.Or(code.Of(err), code.ClientRunFailed) }

// acquire asks for a trial's turn and waits for it; false when the collection was cancelled first.
func (c *collection) acquire(key shardproto.Key) bool {
	if c.ctx.Err() != nil {
		return false
	}
	c.w.say(shardproto.Message{Type: shardproto.TypeAcquire, Key: &key})
	for c.ctx.Err() == nil {
		select {
		case granted := <-c.grants:
			if granted == key {
				return c.ctx.Err() == nil
			}
		case <-c.ctx.Done():
		}
	}
	return false
}

// report writes a trial's result file, then names it to the coordinator.
func (c *collection) report(i, j int, key shardproto.Key, r client.Result) {
	path, err := c.w.folders.writeResult(i, j, shardproto.ResultFile{
		Format: shardproto.Format, Kind: shardproto.KindResult, Key: key, Result: r,
	})
	if err != nil {
		// Without its file the trial can't be told; the coordinator finds it missing at the end.
		c.unclean.Store(true)
		c.counts.Reason = c.w.opts.Redact.String(err.Error())
		return
	}
	m := shardproto.Message{Type: shardproto.TypeTrial, Key: &key, Status: shardproto.StatusCollected, Path: path}
	if r.Infrastructure {
		m.Status = shardproto.StatusInfra
		c.counts.Infra++
	} else {
		c.counts.Collected++
	}
	c.w.say(m)
}

// readinessKey is where a trial's record has what was proved before the first prompt.
const readinessKey = "nativeReadiness"

func withReadiness(r client.Result, ready client.Readiness) client.Result {
	if _, ok := r.Metadata[readinessKey]; ok {
		return r
	}
	metadata := map[string]any{readinessKey: ready}
	for k, v := range r.Metadata {
		metadata[k] = v
	}
	r.Metadata = metadata
	return r
}
