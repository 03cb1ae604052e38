package shardtest

import (
	"context"
	"sync"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/trace"
	"github.com/berth-run/berth/session/client"
)

// App is a client for tests. The zero value answers each prompt with itself.
type App struct {
	// Opening, if set, may fail a batch.
	Opening func(context.Context, client.Batch) error
	// Run, if set, is a trial.
	Run func(context.Context, client.Batch, client.Trial) client.Result
	// Closing, if set, may fail a batch's clean-up.
	Closing func() error

	mu     sync.Mutex
	trials []client.Trial
}

// Trials are those that were run so far, in the order of their starts.
func (a *App) Trials() []client.Trial {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]client.Trial{}, a.trials...)
}

// Info implements client.Client.
func (a *App) Info(context.Context) (client.Info, error) {
	return client.Info{Name: "test-app", Version: "1.2"}, nil
}

// Open implements client.Client.
func (a *App) Open(ctx context.Context, b client.Batch) (client.Session, error) {
	if a.Opening != nil {
		if err := a.Opening(ctx, b); err != nil {
			return nil, err
		}
	}
	return &session{a, b}, nil
}

type session struct {
	app   *App
	batch client.Batch
}

func (s *session) Readiness() client.Readiness {
	return client.Readiness{Login: "not-run", Inference: s.batch.Inference.Mode}
}

func (s *session) Run(ctx context.Context, t client.Trial) client.Result {
	s.app.mu.Lock()
	s.app.trials = append(s.app.trials, t)
	s.app.mu.Unlock()
	if s.app.Run != nil {
		return s.app.Run(ctx, s.batch, t)
	}
	return Answer(t.Prompt)
}

func (s *session) Close(context.Context) error {
	if s.app.Closing != nil {
		return s.app.Closing()
	}
	return nil
}

// Answer is the result of a trial that went well.
func Answer(text string) client.Result {
	return client.Result{
		Submitted: true, DurationMs: 1, SessionID: "session", TurnID: "turn",
		Trace: &trace.Trace{FinalText: text, Events: []trace.Event{}, Evidence: trace.EvidenceStructured},
	}
}

// Cancelled is the result of a trial whose context has ended.
func Cancelled(ctx context.Context) client.Result {
	return client.Result{FailureCode: code.Cancelled, Error: context.Cause(ctx).Error(), Infrastructure: true, Submitted: true}
}
