package fake

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/berth-run/berth/backends"
)

// killed is the status of a process that was ended by force.
const killed = 137

var errKilled = errors.New("killed")

// shard is one container. Its processes run under ctx: the end of PID 1 ends them all, as the kernel
// ends a pid namespace.
type shard struct {
	backend *Backend
	id      string
	config  backends.Config
	digest  string // of its image
	created time.Time

	ctx  context.Context
	end  context.CancelFunc
	gone chan struct{} // closed by Remove
	done chan struct{} // closed when PID 1 has ended
	// procs are PID 1 and the execs.
	procs sync.WaitGroup

	mu     sync.Mutex
	state  string
	status backends.ExitStatus
}

func newShard(b *Backend, id string, c backends.Config, digest string) *shard {
	c.Labels = maps.Clone(c.Labels)
	s := &shard{
		backend: b, id: id, config: c, digest: digest, created: time.Now(),
		gone: make(chan struct{}), done: make(chan struct{}), state: backends.StateCreated,
	}
	s.ctx, s.end = context.WithCancel(context.Background())
	return s
}

func (s *shard) ID() string { return s.id }

func (s *shard) listed() backends.Listed {
	s.mu.Lock()
	defer s.mu.Unlock()
	return backends.Listed{ID: s.id, Name: s.config.Name, State: s.state, Created: s.created, Labels: maps.Clone(s.config.Labels)}
}

func (s *shard) removed() bool {
	select {
	case <-s.gone:
		return true
	default:
		return false
	}
}

// enter takes a place among the shard's processes, in the given state, and then moves to the next.
func (s *shard) enter(want, next string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.removed():
		return s.notFound()
	case s.state != want:
		return fmt.Errorf("shard %s is %s, not %s: %w", s.id, s.state, want, backends.ErrState)
	}
	s.state = next
	s.procs.Add(1)
	return nil
}

func (s *shard) notFound() error { return fmt.Errorf("shard %s: %w", s.id, backends.ErrNotFound) }

// Start implements backends.Shard.
func (s *shard) Start(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if f := s.backend.options.OnStart; f != nil && !s.removed() {
		if err := f(s.id); err != nil {
			return err
		}
	}
	args := s.config.Spec.Process.Args
	run, code := s.backend.program(args[0])
	if run == nil && !s.removed() {
		return fmt.Errorf("starting %s: status %d", args[0], code)
	}
	if err := s.enter(backends.StateCreated, backends.StateRunning); err != nil {
		return err
	}
	out := s.backend.options.Output
	p := newProcess(s.ctx, s.id, backends.Process{Args: args, Env: s.config.Spec.Process.Env, Stdout: out, Stderr: out})
	go func() {
		code := p.run(run)
		s.mu.Lock()
		s.state, s.status = backends.StateExited, backends.ExitStatus{Code: code}
		s.mu.Unlock()
		s.end()
		s.procs.Done()
		close(s.done)
	}()
	return nil
}

// Exec implements backends.Shard.
func (s *shard) Exec(ctx context.Context, p backends.Process) (backends.ExitStatus, error) {
	if err := p.Validate(); err != nil {
		return backends.ExitStatus{}, err
	}
	if ctx.Err() != nil {
		return backends.ExitStatus{}, context.Cause(ctx)
	}
	if err := s.enter(backends.StateRunning, backends.StateRunning); err != nil {
		return backends.ExitStatus{}, err
	}
	defer s.procs.Done()
	run, code := s.backend.program(p.Args[0])
	if run == nil {
		return backends.ExitStatus{Code: code}, nil
	}
	p.Env = mergeEnv(s.config.Spec.Process.Env, p.Env)
	pctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, cancel)
	proc := newProcess(pctx, s.id, p)
	code = proc.run(run)
	if !stop() {
		return backends.ExitStatus{}, context.Cause(ctx)
	}
	if err := proc.failure(); err != nil {
		return backends.ExitStatus{}, err
	}
	return backends.ExitStatus{Code: code}, nil
}

// Wait implements backends.Shard.
func (s *shard) Wait(ctx context.Context) (backends.ExitStatus, error) {
	if s.removed() {
		return backends.ExitStatus{}, s.notFound()
	}
	select {
	case <-ctx.Done():
		return backends.ExitStatus{}, context.Cause(ctx)
	case <-s.gone:
		return backends.ExitStatus{}, s.notFound()
	case <-s.done:
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.status, nil
	}
}

// kill ends PID 1 and all with it, and waits for them.
func (s *shard) kill() {
	s.end()
	s.procs.Wait()
}

// Remove implements backends.Shard.
func (s *shard) Remove(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	s.mu.Lock()
	if !s.removed() {
		close(s.gone)
	}
	s.mu.Unlock()
	s.kill()
	s.backend.mu.Lock()
	defer s.backend.mu.Unlock()
	delete(s.backend.shards, s.id)
	return nil
}

// mergeEnv puts add over base, by name.
func mergeEnv(base, add []string) []string {
	env := slices.Clone(base)
	for _, e := range add {
		name, _, _ := strings.Cut(e, "=")
		env = slices.DeleteFunc(env, func(v string) bool { return strings.HasPrefix(v, name+"=") })
		env = append(env, e)
	}
	return env
}
