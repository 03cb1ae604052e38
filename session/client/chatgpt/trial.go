package chatgpt

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/session/client"
	"github.com/berth-run/berth/session/client/chatgpt/driver"
	"github.com/berth-run/berth/session/client/codexconfig"
	"github.com/berth-run/berth/session/client/evidence"
	"github.com/berth-run/berth/session/client/rollout"
	"github.com/berth-run/berth/session/client/turn"
)

// run is one trial on its way.
type run struct {
	s     *batch
	trial client.Trial
	// prompt is what is sent: the trial's, with marker at its end if there is one.
	prompt, marker string

	index int // in the batch
	start time.Time
	steps map[string]float64

	unprepared bool            // there was no app to submit it to
	receipt    *driver.Receipt // of the Submit, nil when it didn't come to that
	submitted  bool
	bound      *rollout.Bound
	binder     *rollout.Binder
	timings    []evidence.Step
	kept       evidence.Folder    // its record, and if it failed what may show why
	rollout    *evidence.Artifact // the copy of the bound record
}

// Run does one trial. When the one before failed, the app is started anew first, which isn't counted.
func (s *batch) Run(ctx context.Context, t client.Trial) client.Result {
	r := &run{
		s: s, trial: t, index: s.next(), start: time.Now(),
	}
	defer r.note()
	r.mark()
	err := r.possible()
	if err == nil {
		err = cancelled(ctx, s.recover(ctx))
		r.unprepared = err != nil && code.Of(err) != code.Cancelled
	}
	r.steps = s.life.taken()
	if err == nil {
		r.start = time.Now()
		err = r.finish(r.bounded(ctx))
	} else {
		r.unready(err)
	}
	return r.result(err)
}

func (s *batch) next() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cases++
	return s.cases - 1
}

// mark adds the trial's marker to its prompt, where the variant asks for one.
func (r *run) mark() {
	r.prompt = r.trial.Prompt
	if r.s.settings.Correlation == promptMarker {
		r.marker = rand.Text()
		r.prompt += "\n\n[mst-run: " + r.marker + "]"
	}
}

// possible refuses what can't be run whatever state the app is in.
func (r *run) possible() error {
	if err := r.s.usable(); err != nil {
		return err
	}
	if err := turn.CheckPrompt(r.trial.Prompt); err != nil {
		return err
	}
	if err := r.s.profile.checkWorkspace(); err != nil {
		return err
	}
	_, err := newLink(r.s.profile.workspace, r.prompt)
	return err
}

// recover starts the app anew where it was stopped, or has ended. If that fails, nothing more is run.
func (s *batch) recover(ctx context.Context) error {
	if s.app != nil && s.app.alive.Err() == nil {
		return nil
	}
	if err := s.stopApp(ctx); err != nil {
		return err
	}
	began := time.Now()
	s.life.phase = phaseRecovery
	err := s.bringUp(ctx)
	s.life.recovered(time.Since(began))
	if err != nil {
		err = code.Errorf(code.Of(err), "starting the app anew: %w", err)
		s.block(err)
	}
	return err
}

// cancelled is err, unless the caller's own end of ctx is why.
func cancelled(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return code.Errorf(code.Cancelled, "%w", context.Cause(ctx))
	}
	return err
}

// bounded performs within the trial's time.
func (r *run) bounded(ctx context.Context) error {
	limit := r.s.settings.Timeout()
	within, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%w: %v", turn.ErrDeadline, limit))
	defer cancel()
	return cancelled(ctx, r.perform(within))
}

// timed runs one step and notes its time.
func (r *run) timed(step string, do func() error) error {
	start := time.Now()
	err := do()
	r.steps[step] = milliseconds(time.Since(start))
	r.timings = append(r.timings, evidence.Step{At: start, What: evidence.Timed, Name: step, Ms: r.steps[step], Error: code.Of(err)})
	return err
}

// perform has the prompt sent, once, and follows its record to the end.
func (r *run) perform(ctx context.Context) error {
	snapshot, err := rollout.TakeSnapshot(r.s.profile.codexHome())
	if err != nil {
		return code.Errorf(code.HomeUnsafe, "%w", err)
	}
	binder := rollout.NewBinder(snapshot, rollout.Criteria{
		Originator: originator(r.s.settings.Surface), Prompt: r.prompt, Allowed: matches,
		Since: time.Now(), Labels: codexconfig.Labels(r.s.batch.Servers),
	})
	r.binder = binder
	sent := r.timed(StepSubmit, func() error { return r.submit(ctx) })
	if !r.submitted {
		return sent
	}
	return r.timed(StepTurn, func() error { return r.follow(ctx, binder, sent) })
}

// submit has the driver see the prompt in the composer and activate Send.
func (r *run) submit(ctx context.Context) error {
	app := r.s.app
	within, cancel := app.with(ctx)
	defer cancel()
	app.handed = false
	receipt, err := app.window.Submit(within, r.s.settings.Surface, r.prompt)
	r.receipt, r.submitted = &receipt, receipt.Sent
	r.s.sent = r.s.sent || receipt.Sent
	if err == nil && (receipt.Status != driver.Submitted || !receipt.Sent) {
		return code.Errorf(code.MissingOrInvalidReceipt, "the driver's receipt says %q, and that Send was activated: %v", receipt.Status, receipt.Sent)
	}
	return app.because(within, err)
}

// follow waits for the turn. What became of a prompt whose sending ended with an error (sent), the
// record says; without a record that error stands.
func (r *run) follow(ctx context.Context, binder *rollout.Binder, sent error) error {
	ctx, unwatch := r.watchQuestions(ctx)
	defer unwatch()
	w := &turn.Watch{Limits: r.s.limits().Turn, Handed: time.Now(), Binder: binder, App: r.s.app.alive}
	err := w.Follow(ctx)
	r.bound = w.Bound()
	switch {
	case code.Of(err) == code.NoMatchingSession && sent != nil:
		return sent
	case err == nil && r.bound.Turn.Status == rollout.Aborted:
		// An engine whose app is gone says no more than that it was interrupted.
		return r.s.app.ending(r.s.app.endWait)
	}
	return err
}
