package codex

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/session/client"
	"github.com/berth-run/berth/session/client/process"
	"github.com/berth-run/berth/session/client/rollout"
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

// errDeadline: the trial's own time was over.
var errDeadline = errors.New("the trial's time was over")

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
	evidence  *evidence
}

// Run does one trial.
func (s *session) Run(ctx context.Context, t client.Trial) client.Result {
	r := &run{s: s, trial: t, start: time.Now(), steps: map[string]float64{}}
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
	within, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%w: %v", errDeadline, limit))
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
	return nil
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
	switch {
	case strings.TrimSpace(p) == "":
		return code.Errorf(code.PromptInvalid, "the prompt is empty")
	case !utf8.ValidString(p):
		return code.Errorf(code.PromptInvalid, "the prompt is no UTF-8")
	case len(p) > maxPrompt:
		return code.Errorf(code.PromptTooLarge, "the prompt has %d bytes, the limit is %d", len(p), maxPrompt)
	}
	return nil
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
		r.app, err = startApp(launch{
			path: r.s.client.opts.Path, home: r.home, mark: mark,
			env: environ(r.home, r.s.batch.Servers, r.s.options.Env), maxLine: maxLine,
		})
		return err
	})
	if err != nil {
		return code.Errorf(code.AppStartFailed, "%w", err)
	}
	steps := []struct {
		name string
		do   func(context.Context) error
	}{
		{StepInitialize, r.app.initialize},
		{StepThread, func(ctx context.Context) (err error) {
			r.thread, err = r.app.startThread(ctx, r.home.workspace())
			return err
		}},
		{StepServers, func(ctx context.Context) error { return r.app.serversReady(ctx, r.s.batch.Servers) }},
	}
	for _, step := range steps {
		if err := r.timed(step.name, func() error { return r.startStep(ctx, step.do) }); err != nil {
			if step.name == StepServers && ctx.Err() == nil && !r.app.ended() {
				return code.Errorf(code.MCPServerNotReady, "%w", err)
			}
			return r.s.startError(r.app, err)
		}
	}
	return nil
}

func (r *run) startStep(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := within(ctx, startLimit)
	defer cancel()
	return do(ctx)
}

// turn hands the prompt over, once, and follows its record to the end.
func (r *run) turn(ctx context.Context) error {
	snapshot, err := rollout.TakeSnapshot(r.home.codexHome())
	if err != nil {
		return code.Errorf(code.HomeUnsafe, "%w", err)
	}
	w := &watch{
		app: r.app, limits: r.s.client.opts.Limits, handed: time.Now(),
		binder: rollout.NewBinder(snapshot, rollout.Criteria{
			Originator: Originator, Prompt: r.trial.Prompt, Allowed: []rollout.Match{rollout.MatchExact},
			SessionID: r.thread, Since: time.Now(), Labels: r.s.labels(),
		}),
	}
	// From here on it may have been sent, whatever is heard of it.
	r.submitted = true
	if err := r.submit(ctx); err != nil {
		return err
	}
	err = w.follow(ctx)
	r.bound = w.bound
	return err
}

func (r *run) submit(ctx context.Context) error {
	err := r.startStep(ctx, func(ctx context.Context) error {
		return r.app.startTurn(ctx, r.thread, r.trial.Prompt)
	})
	var refused *rpcError
	switch {
	case errors.As(err, &refused):
		r.submitted = false // Codex said so
		return code.Errorf(code.SubmissionFailed, "%w", err)
	case err != nil && ctx.Err() == nil && !r.app.ended():
		return code.Errorf(code.SubmissionFailed, "%w", err)
	}
	// An app that ended or a time that is over shows, with its cause, in what is recorded.
	return nil
}

func (s *session) labels() []string {
	labels := make([]string, len(s.batch.Servers))
	for i, srv := range s.batch.Servers {
		labels[i] = srv.Label
	}
	return labels
}
