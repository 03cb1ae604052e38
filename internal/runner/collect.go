package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/berth-run/berth/internal/channel"
	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/shardproto"
	"github.com/berth-run/berth/session/client"
)

// Time limits of mst.shard/v1.
const (
	silenceLimit = 60 * time.Second
	cancelGrace  = 30 * time.Second
)

// overdueAfter is how long after a trial's own time its result may come: what is done around it (an app
// that is started anew, evidence) has limits of its own, which are shorter.
const overdueAfter = 5 * time.Minute

// collector follows one shard's messages until the worker is done.
type collector struct {
	*shard
	left  map[shardproto.Key]bool // not come back yet
	saved []shardproto.Key
	cut   []shardproto.Key // running when the collector ended
	turns *turns
	greet bool // the worker has introduced itself
	limit time.Duration

	silence *time.Timer
	drain   <-chan struct{} // nil once it has been heeded
	grace   <-chan time.Time
	spent   error // why the shard is to be replaced, nil while it isn't
}

func newCollector(s *shard) *collector {
	c := &collector{shard: s, left: map[shardproto.Key]bool{}, turns: newTurns(s.places), limit: s.Options.silence(), drain: s.Drain}
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
func (c *collector) run(ctx context.Context, l channel.Shard) error {
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		cancel()
		c.cut = c.turns.end()
	}()
	if err := l.Collect(ctx); err != nil {
		return err
	}
	c.silence = time.NewTimer(c.limit)
	defer c.silence.Stop()
	for {
		if done, err := c.step(ctx, l); done || err != nil {
			return err
		}
	}
}

// step handles the next thing that happens; done tells that it was the last.
func (c *collector) step(ctx context.Context, l channel.Shard) (done bool, err error) {
	select {
	case m, ok := <-l.Messages():
		if !ok {
			return false, gone(l)
		}
		// From now on and not from when it came: handling it may have taken longer than the limit.
		defer c.silence.Reset(c.limit)
		return c.take(ctx, l, m)
	case won := <-c.turns.won:
		return false, c.grant(ctx, l, won)
	case <-c.silence.C:
		return false, code.Errorf(code.ShardSilent, "nothing heard from the worker for %s", c.limit)
	case <-c.drain:
		c.drain = nil
		c.say.printf("cancelling")
		return false, c.cancel(ctx, l, "interrupted")
	case <-c.grace:
		return false, code.Errorf(code.Cancelled, "the worker didn't end within %s of being cancelled", cancelGrace)
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}

func gone(l channel.Shard) error {
	err := l.Err()
	if err == nil {
		err = io.ErrUnexpectedEOF
	}
	return code.Errorf(code.ShardLost, "%w", err)
}

// send queues a message. One that finds no place in all that time is for a worker that takes none.
func (c *collector) send(ctx context.Context, l channel.Shard, m shardproto.Message) error {
	ctx, cancel := context.WithTimeoutCause(ctx, c.limit, code.Errorf(code.ShardSilent, "the worker took no message for %s", c.limit))
	defer cancel()
	err := l.Send(ctx, m)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// cancel has the worker end in good order, and soon.
func (c *collector) cancel(ctx context.Context, l channel.Shard, reason string) error {
	c.grace = time.After(cancelGrace)
	return c.send(ctx, l, shardproto.Message{Type: shardproto.TypeCancel, Reason: reason})
}

// take handles one message; done tells that it was the last.
func (c *collector) take(ctx context.Context, l channel.Shard, m shardproto.Message) (done bool, err error) {
	switch m.Type {
	case shardproto.TypeHello:
		return false, c.hello(m)
	case shardproto.TypeHeartbeat:
		return false, c.overdue(time.Now())
	}
	if !c.greet {
		return false, code.Errorf(code.WorkerMismatch, "the image's worker said %q before hello; run `berth runner setup` again", m.Type)
	}
	switch m.Type {
	case shardproto.TypeNeedTokens:
		return false, c.tokens(ctx, l, m)
	case shardproto.TypeAcquire:
		return false, c.acquire(ctx, m)
	case shardproto.TypeTrial:
		return false, c.trial(ctx, l, m)
	case shardproto.TypeDone:
		return true, c.done(ctx, l, m)
	}
	// A newer worker may say more; what it must not do is make us fail.
	c.say.printf("ignoring message %q", m.Type)
	return false, nil
}

func (c *collector) hello(m shardproto.Message) error {
	if m.Protocol != shardproto.Format || m.MST != c.bundle.MST {
		return code.Errorf(code.WorkerMismatch, "the image's worker speaks %q version %q, this is version %s; run `berth runner setup` again", m.Protocol, m.MST, c.bundle.MST)
	}
	c.greet = true
	if m.Client != nil {
		c.out.Client = *m.Client
	}
	app := strings.TrimSpace(c.out.Client.Name + " " + c.out.Client.Version)
	c.say.printf("%s, berth %s, image %s", app, m.MST, c.Image)
	return nil
}

// overdue gives a worker up whose heart beats while a trial of it hangs.
func (c *collector) overdue(now time.Time) error {
	for key, r := range c.turns.running {
		if ran := now.Sub(r.since); ran > c.timeout(key)+overdueAfter {
			return code.Errorf(code.ShardSilent, "no result of %s %s #%d after %s; its time is %s", key.Variant, key.CaseID, key.Trial, ran.Round(time.Second), c.timeout(key))
		}
	}
	return nil
}

// timeout is a trial's own time: the option that every client has.
func (c *collector) timeout(key shardproto.Key) time.Duration {
	o := struct{ Timeout int }{evalTimeoutMs}
	for _, b := range c.bundle.Batches {
		if b.Variant == key.Variant && len(b.Requests) > 0 {
			_ = json.Unmarshal(b.Requests[0].Config.Options, &o) // none: the default
		}
	}
	return time.Duration(o.Timeout) * time.Millisecond
}

// evalTimeoutMs is a trial's time where nothing says another.
const evalTimeoutMs = 300_000

// tokens answers with the servers' bearers, only of servers that the bundle says have one.
func (c *collector) tokens(ctx context.Context, l channel.Shard, m shardproto.Message) error {
	answer := shardproto.Message{Type: shardproto.TypeTokens, ByServer: map[string]shardproto.Token{}}
	for _, label := range m.Servers {
		if !slices.Contains(c.bundle.TokenServers, label) {
			return broken("it asked for the token of %q, which isn't one of its servers", label)
		}
		t, err := c.ServerToken(ctx, label)
		if err != nil && m.Reason == shardproto.ReasonExpiring {
			c.say.printf("token of server %s not renewed: %v", label, err) // the one it has may do
			continue
		}
		if err != nil {
			return code.Errorf(code.MCPPreflightFailed, "token of server %s: %w", label, err)
		}
		answer.ByServer[label] = t
	}
	return c.send(ctx, l, answer)
}

// acquire has a trial wait for its turn, which doesn't hold up the loop.
func (c *collector) acquire(ctx context.Context, m shardproto.Message) error {
	if m.Key == nil || !c.left[*m.Key] || c.turns.has(*m.Key) {
		return broken("it asked for a trial that isn't its own, or twice")
	}
	if c.spent == nil {
		c.turns.ask(ctx, *m.Key, c.limited(*m.Key))
	}
	return nil
}

// limited names what a trial takes places of.
func (c *collector) limited(key shardproto.Key) []string {
	names := []string{"provider:openai"} // every client's, so far
	for _, b := range c.bundle.Batches {
		if b.Variant == key.Variant && len(b.Requests) > 0 {
			for _, s := range b.Requests[0].Input.Servers {
				names = append(names, "server:"+s.Label)
			}
		}
	}
	return names
}

func (c *collector) grant(ctx context.Context, l channel.Shard, won turn) error {
	if !c.turns.begin(won) {
		return nil
	}
	return c.send(ctx, l, shardproto.Message{Type: shardproto.TypeGranted, Key: &won.key})
}

// trial takes a finished trial's result home at once.
func (c *collector) trial(ctx context.Context, l channel.Shard, m shardproto.Message) error {
	if m.Key == nil || !c.left[*m.Key] {
		return broken("it reported a trial that isn't its own, or twice")
	}
	key := *m.Key
	var result client.Result
	err := c.out.Steps.time(StepFetch, func() (err error) {
		result, err = c.fetch(ctx, l, m.Path, key)
		return err
	})
	if err != nil {
		return err
	}
	c.turns.over(key)
	if err := c.out.Steps.time(StepSave, func() error { return c.Recorder.Trial(key, result) }); err != nil {
		return code.Errorf(code.ResultsNotSaved, "%w", err)
	}
	delete(c.left, key)
	c.saved = append(c.saved, key)
	c.out.Finished++
	c.say.printf("%s %s #%d %s%s", key.Variant, key.CaseID, key.Trial, m.Status, because(result))
	if why := c.spends(result.FailureCode); why != nil {
		return c.spend(ctx, l, why)
	}
	return nil
}

func because(r client.Result) string {
	switch {
	case r.FailureCode == "":
		return ""
	case r.Error == "" || r.Error == string(r.FailureCode):
		return fmt.Sprintf(" (%s)", r.FailureCode)
	}
	return fmt.Sprintf(" (%s: %s)", r.FailureCode, r.Error)
}

// done takes the evidence home. Trials that were cancelled stay in left.
func (c *collector) done(ctx context.Context, l channel.Shard, m shardproto.Message) error {
	_ = c.out.Steps.time(StepEvidence, func() error { c.evidence(ctx, l); return nil })
	c.out.Steps.add(m.StepsMs)
	c.say.printf("done: %d collected, %d infra, %d not run", m.Collected, m.Infra, m.Cancelled)
	asked := c.grace != nil
	if err := c.cleanedUp(m.Cleanups); err != nil {
		return err
	}
	switch {
	case c.spent != nil:
		return c.spent
	case len(c.left) > 0 && !asked && m.Reason != "":
		return code.Errorf(code.Missing, "the worker is done and %d of its trials never came: %.500s", len(c.left), m.Reason)
	case len(c.left) > 0 && !asked:
		return code.Errorf(code.Missing, "the worker is done and %d of its trials never came", len(c.left))
	case m.Cleanup == shardproto.CleanupFailed:
		return code.Errorf(code.AppStopFailed, "the worker couldn't clean up after its trials")
	}
	return nil
}

// cleanedUp adds to the trials' records what the ends of their batches came to.
func (c *collector) cleanedUp(all []shardproto.Cleanup) error {
	for _, done := range all {
		var keys []shardproto.Key
		for _, k := range c.saved {
			if k.Variant == done.Variant {
				keys = append(keys, k)
			}
		}
		if err := c.Recorder.CleanedUp(keys, done); err != nil {
			return code.Errorf(code.ResultsNotSaved, "%w", err)
		}
	}
	return nil
}

// settle says what became of every trial that didn't come back. Of one that was running it can't be
// known any more whether its prompt was sent: it's recorded as lost to infrastructure, and nothing
// runs it again by itself.
func (c *collector) settle(err error) {
	reason := "cancelled before it ran"
	if err != nil {
		reason = code.Line(err.Error())
		for _, key := range c.cut {
			r := client.Result{FailureCode: code.Of(err), Error: code.Line(code.Detail(err)), Infrastructure: true, Submitted: true}
			if c.Recorder.Trial(key, r) == nil {
				delete(c.left, key)
			}
		}
	}
	for _, k := range c.keys() {
		if c.left[k] {
			c.out.Missing = append(c.out.Missing, Missing{Key: k, Reason: reason})
		}
	}
}
