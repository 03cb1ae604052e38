package worker

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/session/client"
)

// fake is a client whose trials do what a test says.
type fake struct {
	openErr  error
	closeErr error
	opening  func(context.Context) error
	run      func(context.Context, client.Trial) client.Result

	mu      sync.Mutex
	batches []client.Batch
	prompts []string
	closed  int
}

func (f *fake) Info(context.Context) (client.Info, error) {
	return client.Info{Name: "fake", Version: "7"}, nil
}

func (f *fake) Open(ctx context.Context, b client.Batch) (client.Session, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.batches = append(f.batches, b)
	if f.opening != nil {
		if err := f.opening(ctx); err != nil {
			return nil, err
		}
	}
	if f.openErr != nil && b.Variant == "broken" {
		return nil, f.openErr
	}
	return &fakeSession{f, b}, nil
}

type fakeSession struct {
	f *fake
	b client.Batch
}

func (s *fakeSession) Readiness() client.Readiness {
	return client.Readiness{Login: "not-run", Inference: s.b.Inference.Mode}
}

func (s *fakeSession) Run(ctx context.Context, t client.Trial) client.Result {
	s.f.mu.Lock()
	s.f.prompts = append(s.f.prompts, t.Prompt)
	s.f.mu.Unlock()
	if err := os.WriteFile(filepath.Join(s.b.EvidenceDir, t.CaseID), nil, 0o600); err != nil {
		return client.Result{FailureCode: code.ClientRunFailed, Error: err.Error()}
	}
	if s.f.run == nil {
		return client.Result{Submitted: true}
	}
	return s.f.run(ctx, t)
}

func (s *fakeSession) Close(context.Context) error {
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	s.f.closed++
	return s.f.closeErr
}

// untilCancelled is a trial that lasts until it's cancelled; started tells that it runs.
func untilCancelled(started chan<- struct{}) func(context.Context, client.Trial) client.Result {
	return func(ctx context.Context, _ client.Trial) client.Result {
		close(started)
		<-ctx.Done()
		return client.Result{FailureCode: code.Cancelled, Error: context.Cause(ctx).Error(), Infrastructure: true, Submitted: true}
	}
}

var errNoClient = errors.New("no such client")
