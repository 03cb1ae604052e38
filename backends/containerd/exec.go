package containerd

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/internal/execkill"
	"github.com/berth-run/berth/oci"
)

// killTimeout bounds the exec that kills a cancelled one, and the wait for its end.
const killTimeout = 10 * time.Second

// Exec implements backends.Shard.
func (s *shard) Exec(ctx context.Context, p backends.Process) (backends.ExitStatus, error) {
	if err := p.Validate(); err != nil {
		return backends.ExitStatus{}, err
	}
	if err := s.there(ctx); err != nil {
		return backends.ExitStatus{}, err
	}
	id := rand.Text()
	p.Env = append(slices.Clone(p.Env), execkill.EnvVar+"="+id)
	code, err := s.exec(ctx, id, p, func(cause error) error { return s.killExec(ctx, id, cause) })
	return backends.ExitStatus{Code: code}, err
}

// killExec ends what runs under an exec's mark, by an exec without one. The caller's ctx has ended, so
// this has a time of its own.
func (s *shard) killExec(ctx context.Context, id string, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), killTimeout)
	defer cancel()
	var said strings.Builder
	p := backends.Process{Args: []string{oci.WorkerPath, "kill", id}, Stderr: &said}
	code, err := s.exec(ctx, rand.Text(), p, func(cause error) error { return cause })
	if errors.Is(err, backends.ErrState) || errors.Is(err, backends.ErrNotFound) {
		return cause // PID 1 has ended, and all with it
	}
	if err == nil && code != 0 {
		err = fmt.Errorf("status %d: %s", code, strings.TrimSpace(said.String()))
	}
	if err != nil {
		return fmt.Errorf("%w (and its processes may be left in shard %.12s: %w)", cause, s.id, err)
	}
	return cause
}

// exec runs p under that id, carries its streams and gives its exit status. When ctx ends or a stream
// fails, kill is called with the cause, and what it returns is returned.
func (s *shard) exec(ctx context.Context, id string, p backends.Process, kill func(error) error) (int, error) {
	f, err := newFIFOs(s.backend.engine, s.id, id, p)
	if err != nil {
		return 0, err
	}
	defer f.close()
	e := &execution{shard: s, id: id, fifos: f, ended: make(chan struct{})}
	if err := e.start(ctx, p); err != nil {
		return startStatus(err)
	}
	defer e.forget(ctx)
	copied := e.copy()
	sent := make(chan error, 1)
	if p.Stdin == nil {
		f.forget()
	} else {
		// Not waited for: a reader that blocks outlives its process.
		go func() {
			if err := e.send(ctx, p.Stdin); err != nil {
				sent <- err
			}
		}()
	}
	select {
	case <-e.ended:
		if e.err == nil {
			e.drain(ctx, copied)
			if err = e.delivered(ctx, copied); err == nil {
				return e.code, nil
			}
			err = fmt.Errorf("exec of %s: %w", p.Args[0], err)
		} else {
			err = s.gone(ctx, e.err)
		}
	case err = <-copied:
		if err == nil { // it may close its outputs before it ends
			return e.finish(ctx, p, sent, kill)
		}
		copied <- err
		err = fmt.Errorf("exec of %s: %w", p.Args[0], err)
	case err = <-sent:
		err = fmt.Errorf("exec of %s: %w", p.Args[0], err)
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	err = e.kill(ctx, kill(err))
	f.close()
	<-copied
	return 0, err
}

// delivered waits for the ends of the outputs of a process that has ended.
func (e *execution) delivered(ctx context.Context, copied chan error) error {
	select {
	case err := <-copied:
		copied <- err // it's looked for once more when all has ended
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// finish waits for the end of a process whose outputs have ended.
func (e *execution) finish(ctx context.Context, p backends.Process, sent <-chan error, kill func(error) error) (int, error) {
	var err error
	select {
	case <-e.ended:
		if e.err != nil {
			return 0, e.shard.gone(ctx, e.err)
		}
		return e.code, nil
	case err = <-sent:
		err = fmt.Errorf("exec of %s: %w", p.Args[0], err)
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	return 0, e.kill(ctx, kill(err))
}

// notStarted is a command that can't be run, with the status that says so.
type notStarted struct {
	code int
	error
}

// Statuses that a shell has, too.
const (
	statusNotExecutable = 126
	statusNotFound      = 127
)

func startStatus(err error) (int, error) {
	var n notStarted
	if errors.As(err, &n) {
		return n.code, nil
	}
	return 0, err
}

// refused reads why a process wasn't started: runc has only words for it.
func (e *execution) refused(ctx context.Context, err error) error {
	says := func(text string) bool { return strings.Contains(err.Error(), text) }
	switch dir := e.fifos.engine.fifoDir(); {
	case says(dir) && says(os.ErrNotExist.Error()), says(dir) && says("no such file"):
		return fmt.Errorf("%w: containerd doesn't see berth's folder %s: where berth runs in a container, mount the host's %s into it at the same path, not the socket alone: %w",
			backends.ErrUnavailable, dir, strings.TrimSuffix(dir, "/berth-fifo"), err)
	case says("executable file not found"), says("exec: ") && says("no such file or directory"):
		return notStarted{statusNotFound, err}
	case says("exec: ") && (says("permission denied") || says("is a directory")), says("exec format error"):
		return notStarted{statusNotExecutable, err}
	}
	return e.shard.gone(ctx, err)
}

// gone tells an error of a shard that isn't running any more from another.
func (s *shard) gone(ctx context.Context, err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), forgetTimeout)
	defer cancel()
	if st := s.running(ctx); st != nil {
		return st
	}
	return explain(err)
}
