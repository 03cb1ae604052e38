package codex

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/session/client"
	"github.com/berth-run/berth/session/client/codexconfig"
	"github.com/berth-run/berth/session/client/engine"
	"github.com/berth-run/berth/session/client/evidence"
	"github.com/berth-run/berth/session/client/process"
	"github.com/berth-run/berth/session/client/rollout"
	"github.com/berth-run/berth/session/client/turn"
)

// Names of a trial's steps, for Result.Steps. Those of Codex itself are StepInitialize, StepThread,
// StepServers and StepCodexTurn; the others are what berth adds. StepTurn, from the prompt's hand-over
// to the end of its record, includes StepCodexTurn.
const (
	StepHome       = "home"
	StepConfig     = "config"
	StepLogin      = "login"
	StepSpawn      = "spawn"
	StepInitialize = "initialize"
	StepThread     = "thread_start"
	StepServers    = "mcp_servers"
	StepTurn       = "turn"
	StepCodexTurn  = "codex_turn" // by Codex's own clock
	StepStop       = "stop"
	StepRollout    = "rollout"
	StepTeardown   = "teardown"
)

// run is one trial on its way.
type run struct {
	s     *session
	trial client.Trial
	start time.Time
	steps map[string]float64

	home      home
	app       *app
	thread    string
	submitted bool
	bound     *rollout.Bound
	evidence  *evidence.Folder
	rollout   *evidence.Artifact // the copy of the bound record
}

// Run does one trial.
func (s *session) Run(ctx context.Context, t client.Trial) client.Result {
	r := &run{s: s, trial: t, start: time.Now(), steps: map[string]float64{},
		evidence: &evidence.Folder{Root: s.batch.EvidenceDir, Name: t.CaseID, Redact: s.redact}}
	err := s.usable()
	if err == nil {
		err = r.finish(r.bounded(ctx))
	}
	return r.result(err)
}

// bounded performs within the trial's time. Whatever else is told, the caller's own end of ctx is why
// a turn wasn't seen to its end.
func (r *run) bounded(ctx context.Context) error {
	limit := r.s.options.Timeout()
	within, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%w: %v", turn.ErrDeadline, limit))
	defer cancel()
	err := r.perform(within)
	if err != nil && ctx.Err() != nil {
		return code.Errorf(code.Cancelled, "%w", context.Cause(ctx))
	}
	return err
}

// usable refuses a trial beside the remains of another.
func (s *session) usable() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken != nil {
		return code.Errorf(code.AppStopFailed, "an earlier trial couldn't be cleaned up: %w", s.broken)
	}
	return s.roomy()
}

// timed runs one step and notes its time, in milliseconds.
func (r *run) timed(step string, do func() error) error {
	start := time.Now()
	err := do()
	r.steps[step] = milliseconds(time.Since(start))
	return err
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// perform goes from an empty home to the turn's end.
func (r *run) perform(ctx context.Context) error {
	if err := checkPrompt(r.trial.Prompt); err != nil {
		return err
	}
	mark := process.NewMark()
	if err := r.prepare(ctx, mark); err != nil {
		return err
	}
	if err := r.startApp(ctx, mark); err != nil {
		return err
	}
	return r.timed(StepTurn, func() error { return r.turn(ctx) })
}

func checkPrompt(p string) error {
	if len(p) > maxPrompt {
		return code.Errorf(code.PromptTooLarge, "the prompt has %d bytes, the limit is %d", len(p), maxPrompt)
	}
	return turn.CheckPrompt(p)
}

func (r *run) prepare(ctx context.Context, mark string) error {
	err := r.timed(StepHome, func() (err error) {
		r.home, err = newHome(r.s.dir)
		return err
	})
	if err != nil {
		return err
	}
	if err := r.timed(StepConfig, func() error { return r.s.configure(r.home, mark) }); err != nil {
		return err
	}
	if r.s.batch.Inference.Mode != client.ModeAPIKey {
		return nil
	}
	return r.timed(StepLogin, func() error { return r.s.login(ctx, r.home, mark) })
}

// startApp brings the app server to where it takes a prompt.
func (r *run) startApp(ctx context.Context, mark string) error {
	err := r.timed(StepSpawn, func() (err error) {
		r.app, err = startApp(r.s.codex(r.home, mark))
		return err
	})
	if err != nil {
		return err
	}
	steps := []struct {
		name string
		do   func(context.Context) error
	}{
		{StepInitialize, func(ctx context.Context) error { return r.app.Initialize(ctx, Originator) }},
		{StepThread, func(ctx context.Context) (err error) {
			r.thread, err = r.app.startThread(ctx, r.home.workspace())
			return err
		}},
		{StepServers, func(ctx context.Context) error { return r.app.serversReady(ctx, r.s.batch.Servers) }},
	}
	for _, step := range steps {
		if err := r.timed(step.name, func() error { return r.startStep(ctx, step.do) }); err != nil {
			if step.name == StepServers && ctx.Err() == nil && !r.app.Ended() {
				return code.Errorf(code.MCPServerNotReady, "%w", err)
			}
			return r.app.StartError(err)
		}
	}
	return nil
}

func (r *run) startStep(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := engine.Within(ctx)
	defer cancel()
	return do(ctx)
}

// turn hands the prompt over, once, and follows its record to the end.
func (r *run) turn(ctx context.Context) error {
	snapshot, err := rollout.TakeSnapshot(r.home.codexHome())
	if err != nil {
		return code.Errorf(code.HomeUnsafe, "%w", err)
	}
	alive, stop := r.alive()
	defer stop()
	w := &turn.Watch{
		Limits: r.s.client.opts.Limits, Handed: time.Now(), App: alive, Wake: r.app.wake, Over: r.app.over,
		Binder: rollout.NewBinder(snapshot, rollout.Criteria{
			Originator: Originator, Prompt: r.trial.Prompt, Allowed: []rollout.Match{rollout.MatchExact},
			SessionID: r.thread, Since: time.Now(), Labels: codexconfig.Labels(r.s.batch.Servers),
		}),
	}
	// From here on it may have been sent, whatever is heard of it.
	r.submitted = true
	if err := r.submit(ctx); err != nil {
		return err
	}
	err = w.Follow(ctx)
	r.bound = w.Bound()
	return err
}

// alive ends when the app server does, with that as its cause.
func (r *run) alive() (context.Context, func()) {
	p := r.app.Process
	ctx, end := context.WithCancelCause(context.Background())
	go func() {
		select {
		case <-p.Done():
			end(code.Errorf(code.ClientRunFailed, "codex app-server ended in the middle of the turn (%s)", p.Exit()))
		case <-ctx.Done():
		}
	}()
	return ctx, func() { end(nil) }
}

func (r *run) submit(ctx context.Context) error {
	err := r.startStep(ctx, func(ctx context.Context) error {
		return r.app.startTurn(ctx, r.thread, r.trial.Prompt)
	})
	var refused *engine.RPCError
	switch {
	case errors.As(err, &refused):
		r.submitted = false // Codex said so
		return code.Errorf(code.SubmissionFailed, "%w", err)
	case err != nil && ctx.Err() == nil && !r.app.Ended():
		return code.Errorf(code.SubmissionFailed, "%w", err)
	}
	// An app that ended or a time that is over shows, with its cause, in what is recorded.
	return nil
}
