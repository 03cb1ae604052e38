package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"time"

	"github.com/berth-run/berth/internal/channel"
	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/shardproto"
	"github.com/berth-run/berth/oci"
	"github.com/berth-run/berth/session/client"
)

// Time limits of mst.shard/v1.
const (
	silenceLimit = 60 * time.Second
	cancelGrace  = 30 * time.Second
)

// A result file and a shard's evidence are bounded, since the shard isn't trusted.
const maxResultBytes = 64 << 20

// collector follows one shard's messages until the worker is done.
type collector struct {
	*shard
	left    map[shardproto.Key]bool // not come back yet
	running map[shardproto.Key]func()
	grants  chan shardproto.Key
	fail    chan error
	hello   bool
}

func newCollector(s *shard) *collector {
	c := &collector{
		shard: s, left: map[shardproto.Key]bool{}, running: map[shardproto.Key]func(){},
		fail: make(chan error, 1),
	}
	for _, k := range s.keys() {
		c.left[k] = true
	}
	return c
}

// keys are the bundle's trials in order.
func (s *shard) keys() []shardproto.Key {
	var keys []shardproto.Key
	for _, b := range s.bundle.Batches {
		for _, r := range b.Requests {
			keys = append(keys, shardproto.Key{Variant: b.Variant, CaseID: r.CaseID, Trial: r.Trial})
		}
	}
	return keys
}

// run starts the bundle and follows it. Places a trial holds are given back however it ends.
func (c *collector) run(ctx context.Context, l channel.Shard) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer c.release()
	defer func() { c.cutOff(err) }()
	if err := l.Collect(ctx); err != nil {
		return err
	}
	silence := time.NewTimer(c.silence())
	defer silence.Stop()
	drain := c.Drain
	var grace <-chan time.Time
	for {
		select {
		case m, ok := <-l.Messages():
			if !ok {
				return c.gone(l)
			}
			silence.Reset(c.silence())
			done, err := c.take(ctx, l, m)
			if done || err != nil {
				return err
			}
		case err := <-c.fail:
			return err
		case <-silence.C:
			return code.Errorf(code.ShardSilent, "nothing heard from the worker for %s", c.silence())
		case <-drain:
			drain, grace = nil, time.After(cancelGrace)
			c.say.printf("cancelling")
			if err := l.Send(ctx, shardproto.Message{Type: shardproto.TypeCancel, Reason: "interrupted"}); err != nil {
				return err
			}
		case <-grace:
			return code.Errorf(code.Cancelled, "the worker didn't end within %s of being cancelled", cancelGrace)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (c *collector) silence() time.Duration {
	if c.Silence > 0 {
		return c.Silence
	}
	return silenceLimit
}

func (c *collector) gone(l channel.Shard) error {
	err := l.Err()
	if err == nil {
		err = io.ErrUnexpectedEOF
	}
	return code.Errorf(code.ShardLost, "%w", err)
}

// take handles one message; done tells that it was the last.
func (c *collector) take(ctx context.Context, l channel.Shard, m shardproto.Message) (done bool, err error) {
	switch m.Type {
	case shardproto.TypeHello:
		return false, c.greet(m)
	case shardproto.TypeNeedTokens:
		return false, c.sendTokens(ctx, l, m.Servers)
	case shardproto.TypeAcquire:
		return false, c.acquire(ctx, l, m)
	case shardproto.TypeTrial:
		return false, c.trial(ctx, l, m)
	case shardproto.TypeDone:
		return true, c.done(ctx, l, m)
	case shardproto.TypeHeartbeat:
		return false, nil
	}
	// A newer worker may say more; what it must not do is make us fail.
	c.say.printf("ignoring message %q", m.Type)
	return false, nil
}

func (c *collector) greet(m shardproto.Message) error {
	if m.Protocol != shardproto.Format || m.MST != c.bundle.MST {
		return code.Errorf(code.WorkerMismatch, "the image's worker speaks %s version %s, this is version %s; run `berth runner setup` again", m.Protocol, m.MST, c.bundle.MST)
	}
	c.hello = true
	if m.Client != nil {
		c.out.Client = *m.Client
	}
	c.say.printf("%s %s, berth %s, image %s", c.out.Client.Name, c.out.Client.Version, m.MST, c.Image)
	return nil
}

func (c *collector) sendTokens(ctx context.Context, l channel.Shard, labels []string) error {
	tokens := shardproto.Message{Type: shardproto.TypeTokens, ByServer: map[string]shardproto.Token{}}
	for _, label := range labels {
		t, err := c.ServerToken(ctx, label)
		if err != nil {
			return code.Errorf(code.MCPPreflightFailed, "token for server %s: %w", label, err)
		}
		tokens.ByServer[label] = t
	}
	return l.Send(ctx, tokens)
}

// acquire grants a trial its turn once the run's limits allow it. It doesn't hold up the loop.
func (c *collector) acquire(ctx context.Context, l channel.Shard, m shardproto.Message) error {
	if m.Key == nil || !c.left[*m.Key] {
		return code.Errorf(code.ShardLost, "the worker asked for a trial that isn't its own")
	}
	key := *m.Key
	ctx, cancel := context.WithCancel(ctx)
	held := make(chan func(), 1)
	c.running[key] = func() {
		cancel()
		if release := <-held; release != nil {
			release()
		}
	}
	go func() {
		release, err := c.places.acquire(ctx, c.limited(key))
		held <- release
		if err != nil {
			return // the trial or the run ended first
		}
		if err := l.Send(ctx, shardproto.Message{Type: shardproto.TypeGranted, Key: &key}); err != nil && ctx.Err() == nil {
			select {
			case c.fail <- err:
			default:
			}
		}
	}()
	return nil
}

// limited names what a trial takes places of.
func (c *collector) limited(key shardproto.Key) []string {
	names := []string{"provider:openai"}
	for _, b := range c.bundle.Batches {
		if b.Variant == key.Variant && len(b.Requests) > 0 {
			for _, s := range b.Requests[0].Input.Servers {
				names = append(names, "server:"+s.Label)
			}
		}
	}
	return names
}

// trial takes a finished trial's result home at once.
func (c *collector) trial(ctx context.Context, l channel.Shard, m shardproto.Message) error {
	if m.Key == nil || !c.left[*m.Key] {
		return code.Errorf(code.ShardLost, "the worker reported a trial that isn't its own, or twice")
	}
	key := *m.Key
	result, err := c.fetch(ctx, l, m.Path, key)
	if err != nil {
		return err
	}
	if end := c.running[key]; end != nil {
		end()
		delete(c.running, key)
	}
	if err := c.Recorder.Trial(key, result); err != nil {
		return code.Errorf(code.ResultsNotSaved, "%w", err)
	}
	delete(c.left, key)
	c.out.Finished++
	c.say.printf("%s %s #%d %s%s", key.Variant, key.CaseID, key.Trial, m.Status, because(result))
	return nil
}

func because(r client.Result) string {
	if r.FailureKind == "" {
		return ""
	}
	return fmt.Sprintf(" (%s: %s)", r.FailureKind, r.Error)
}

// fetch reads one result file, which must be the one the message named.
func (c *collector) fetch(ctx context.Context, l channel.Shard, name string, key shardproto.Key) (client.Result, error) {
	if !path.IsAbs("/"+name) || path.Clean("/"+name) != "/"+name {
		return client.Result{}, code.Errorf(code.ParseFailure, "result path %q", name)
	}
	var buf bytes.Buffer
	if err := l.Get(ctx, oci.RunDir+"/results/"+name, &limitedBuffer{&buf, maxResultBytes}); err != nil {
		return client.Result{}, err
	}
	body, err := untar1(&buf, maxResultBytes)
	if err != nil {
		return client.Result{}, code.Errorf(code.ParseFailure, "result of %s: %w", key.CaseID, err)
	}
	var f shardproto.ResultFile
	if err := json.Unmarshal(body, &f); err != nil {
		return client.Result{}, code.Errorf(code.ParseFailure, "result of %s: %w", key.CaseID, err)
	}
	if f.Format != shardproto.Format || f.Kind != shardproto.KindResult || f.Key != key {
		return client.Result{}, code.Errorf(code.ParseFailure, "result of %s is marked %s %s for %s", key.CaseID, f.Format, f.Kind, f.Key.CaseID)
	}
	return f.Result, nil
}

// done takes the evidence home. Trials that were cancelled stay in left.
func (c *collector) done(ctx context.Context, l channel.Shard, m shardproto.Message) error {
	c.evidence(ctx, l)
	c.say.printf("done: %d collected, %d infra, %d not run", m.Collected, m.Infra, m.Cancelled)
	if m.Cleanup == shardproto.CleanupFailed {
		return code.Errorf(code.AppStopFailed, "the worker couldn't clean up after its trials")
	}
	if len(c.left) > 0 && m.Cancelled == 0 {
		return code.Errorf(code.Missing, "the worker is done and %d trials never came", len(c.left))
	}
	return nil
}

// evidence never changes an outcome: what can't be had is said.
func (c *collector) evidence(ctx context.Context, l channel.Shard) {
	r, w := io.Pipe()
	got := make(chan error, 1)
	go func() {
		err := c.Recorder.Evidence(c.bundle.Shard.Index, r)
		r.CloseWithError(errors.Join(err, io.ErrClosedPipe))
		got <- err
	}()
	err := l.Get(ctx, oci.RunDir+"/results/evidence", w)
	w.CloseWithError(err)
	if err = errors.Join(err, <-got); err != nil {
		c.say.printf("evidence not copied: %v", err)
	}
}

// cutOff records the trial that was under way when the shard failed as an infrastructure failure.
// Whether its prompt was sent can't be known any more, so it is never run again by itself.
func (c *collector) cutOff(err error) {
	if err == nil {
		return
	}
	kind := code.Of(err)
	if kind == "" {
		kind = code.ShardLost
	}
	for key := range c.running {
		r := client.Result{FailureKind: kind, Error: c.Secrets.String(err.Error()), Infrastructure: true, Submitted: true}
		if c.Recorder.Trial(key, r) == nil {
			delete(c.left, key)
		}
	}
}

func (c *collector) release() {
	for key, end := range c.running {
		end()
		delete(c.running, key)
	}
}

// settle says of every trial that didn't come back why.
func (c *collector) settle(err error) {
	reason := "cancelled before it ran"
	if err != nil {
		reason = c.Secrets.String(err.Error())
	}
	for _, k := range c.keys() {
		if c.left[k] {
			c.out.Missing = append(c.out.Missing, Missing{Key: k, Reason: reason})
		}
	}
}

// limitedBuffer fails a write beyond its limit instead of growing without end.
type limitedBuffer struct {
	*bytes.Buffer
	limit int
}

func (b *limitedBuffer) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.limit {
		return 0, fmt.Errorf("more than %d bytes", b.limit)
	}
	return b.Buffer.Write(p)
}
