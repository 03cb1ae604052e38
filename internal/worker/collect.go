package worker

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/berth-run/berth/internal/channel"
	"github.com/berth-run/berth/internal/shardproto"
	"github.com/berth-run/berth/internal/version"
	"github.com/berth-run/berth/session/client"
)

// collection is one bundle under way: mst.shard/v1 as the worker speaks it.
type collection struct {
	w      *Worker
	bundle shardproto.Bundle
	id     [sha256.Size]byte
	tokens *tokens
	memory memory
	grants chan shardproto.Key

	ctx    context.Context // ends by a cancel message, or with the Worker
	cancel context.CancelCauseFunc
	done   chan struct{}

	counts  shardproto.Message // the done message in the making
	unclean atomic.Bool
}

func newCollection(w *Worker, b shardproto.Bundle, id [sha256.Size]byte) *collection {
	c := &collection{w: w, bundle: b, id: id, memory: memory{cgroup: w.opts.Cgroup}, grants: make(chan shardproto.Key, 16), done: make(chan struct{})}
	c.ctx, c.cancel = context.WithCancelCause(w.ctx)
	c.tokens = newTokens(w.folders.tokens, w.opts.Redact, func(servers []string, reason string) {
		w.say(shardproto.Message{Type: shardproto.TypeNeedTokens, Servers: servers, Reason: reason})
	})
	return c
}

// take handles one message of the coordinator's.
func (c *collection) take(m shardproto.Message) {
	switch m.Type {
	case shardproto.TypeTokens:
		c.tokens.take(m.ByServer)
	case shardproto.TypeCancel:
		c.cancel(errors.New(cmp.Or(m.Reason, "by the coordinator")))
	case shardproto.TypeGranted:
		if m.Key == nil {
			return
		}
		select {
		case c.grants <- *m.Key:
		default: // only one is ever asked for; a flood mustn't hold up a cancel
		}
	}
}

// settleWait bounds how long the end of the Worker waits for the app to be ended.
const settleWait = 10 * time.Second

func (c *collection) settle() {
	select {
	case <-c.done:
	case <-time.After(settleWait):
	}
}

func (c *collection) run() {
	defer close(c.done)
	alive, stop := context.WithCancel(c.w.ctx)
	defer stop()
	go c.heartbeat(alive)
	c.hello()
	if err := c.readyTokens(alive); err != nil {
		c.failAll(err)
	} else {
		for i, b := range c.bundle.Batches {
			c.batch(i, b)
		}
	}
	stop()
	c.finish()
}

// hello introduces the worker and the app of the first batch; what is wrong with that app is found
// out, and said, when the batch is opened.
func (c *collection) hello() {
	m := shardproto.Message{Type: shardproto.TypeHello, Protocol: shardproto.Format, MST: version.Version, Image: c.w.opts.Image}
	if name := c.firstClient(); name != "" {
		m.Client = &client.Info{Name: name}
		if app, err := c.w.opts.Clients(name); err == nil {
			if info, err := app.Info(c.ctx); err == nil {
				m.Client = &info
			}
		}
	}
	c.w.say(m)
}

func (c *collection) firstClient() string {
	for _, b := range c.bundle.Batches {
		for _, r := range b.Requests {
			return r.Config.Type
		}
	}
	return ""
}

// heartbeat says that the worker is alive. Nobody to hear it is no reason to queue it.
func (c *collection) heartbeat(ctx context.Context) {
	ticker := time.NewTicker(c.w.opts.Heartbeat)
	defer ticker.Stop()
	for {
		select {
		case now := <-ticker.C:
			if c.w.server.Attached() {
				c.w.say(shardproto.Message{Type: shardproto.TypeHeartbeat, At: now.UTC().Format(time.RFC3339)})
			}
		case <-ctx.Done():
			return
		}
	}
}

// readyTokens gets the servers' tokens before anything needs one, and keeps them fresh until ctx ends.
func (c *collection) readyTokens(ctx context.Context) error {
	if len(c.bundle.TokenServers) == 0 {
		return nil
	}
	c.tokens.ask(c.bundle.TokenServers, shardproto.ReasonStart)
	err := c.tokens.await(c.ctx)
	if err == nil {
		go c.tokens.renew(ctx, c.w.opts.TokenRenew)
	}
	return err
}

// failAll reports every trial as failed by err, or as not run where it was the coordinator that
// ended them.
func (c *collection) failAll(err error) {
	for i, b := range c.bundle.Batches {
		c.failBatch(i, b, err)
	}
}

// finish removes the tokens and says how it went.
func (c *collection) finish() {
	if c.tokens.remove() != nil {
		c.unclean.Store(true)
	}
	m := c.counts
	m.Type, m.Cleanup, m.StepsMs = shardproto.TypeDone, shardproto.CleanupOK, c.w.opts.Desktop.steps()
	if c.unclean.Load() {
		m.Cleanup = shardproto.CleanupFailed
	}
	c.w.say(m)
}

// inference is the way to the model as an app in this shard has it.
func (c *collection) inference() client.Inference {
	return client.Inference{
		Mode:      c.bundle.Inference.Mode,
		BaseURL:   "http://" + c.w.server.TunnelAddr() + c.bundle.Inference.BasePath,
		TokenFile: filepath.Join(c.w.folders.tokens, channel.TokenInference),
	}
}
