package containerd

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/containerd/containerd/api/services/tasks/v1"
	"github.com/containerd/typeurl/v2"
	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/internal/execkill"
	"github.com/berth-run/berth/oci"
)

const (
	// killTimeout bounds the exec that kills a cancelled one, and the wait for its end.
	killTimeout = 10 * time.Second
	// forgetTimeout bounds the deletion of an exec that has ended.
	forgetTimeout = 10 * time.Second
	// idle is how long no output has come after the process's end before it's taken for held back by a
	// child that lives on.
	idle = 100 * time.Millisecond
)

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
	f, err := newFIFOs(s.backend.engine, id, p)
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
			if err = <-copied; err == nil {
				return e.code, nil
			}
			return 0, fmt.Errorf("exec of %s: %w", p.Args[0], err)
		}
		err = s.gone(ctx, e.err)
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

// execution is one exec, as containerd knows it.
type execution struct {
	shard *shard
	id    string
	fifos *fifos
	// ended is closed when code or err is there.
	ended chan struct{}
	code  int
	err   error
}

// start adds the process and starts it. That isn't cancelled half-way: a process that may have been
// started couldn't be waited for.
func (e *execution) start(ctx context.Context, p backends.Process) error {
	s := e.shard
	release, err := s.backend.execs.take(ctx)
	if err != nil {
		return err
	}
	defer release()
	ctx = context.WithoutCancel(ctx)
	bounded, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	spec, err := typeurl.MarshalAnyToProto(s.execSpec(p))
	if err != nil {
		return err
	}
	_, err = s.tasks().Exec(bounded, &tasks.ExecProcessRequest{
		ContainerID: s.id, ExecID: e.id, Spec: spec,
		Stdin: e.fifos.there("stdin"), Stdout: e.fifos.there("stdout"), Stderr: e.fifos.there("stderr"),
	})
	if err != nil {
		return s.gone(ctx, native(err))
	}
	if _, err = s.tasks().Start(bounded, &tasks.StartRequest{ContainerID: s.id, ExecID: e.id}); err != nil {
		e.forget(ctx)
		return e.refused(ctx, native(err))
	}
	e.fifos.started()
	go e.wait(ctx)
	return nil
}

// execSpec is PID 1's process with another command and more variables; of two with one name the later
// counts.
func (s *shard) execSpec(p backends.Process) *specs.Process {
	spec := *s.process
	spec.Terminal, spec.Args, spec.Env = false, p.Args, nil
	seen := map[string]bool{}
	for _, kv := range slices.Backward(slices.Concat(s.process.Env, p.Env)) {
		name, _, _ := strings.Cut(kv, "=")
		if !seen[name] {
			seen[name] = true
			spec.Env = append(spec.Env, kv)
		}
	}
	slices.Reverse(spec.Env)
	return &spec
}

func (e *execution) wait(ctx context.Context) {
	r, err := e.shard.tasks().Wait(ctx, &tasks.WaitRequest{ContainerID: e.shard.id, ExecID: e.id})
	e.code, e.err = int(r.GetExitStatus()), native(err)
	close(e.ended)
}

// copy moves the outputs; what comes when all have ended is the first error.
func (e *execution) copy() chan error {
	one := make(chan error, len(e.fifos.outputs))
	for _, o := range e.fifos.outputs {
		go func() { one <- o.copy() }()
	}
	all := make(chan error, 1)
	go func() {
		var first error
		for range e.fifos.outputs {
			if err := <-one; err != nil && first == nil {
				first = err
				// The others would wait for a process that waits for this one.
				for _, o := range e.fifos.outputs {
					o.Close()
				}
			}
		}
		all <- first
	}()
	return all
}

// send copies stdin and ends it. The end of the file alone isn't one: the shim holds a writing end of its
// own, which it lets go when it's told to, after the start and not before (containerd#2439). A write
// fails when the process has ended, which shows elsewhere too; the reader's own error is returned, and
// stdin isn't ended then: what came so far must not pass for all.
func (e *execution) send(ctx context.Context, stdin io.Reader) error {
	w, err := e.fifos.stdin(ctx, e.ended)
	if err != nil {
		return nil // it has ended, or ctx has
	}
	defer w.Close()
	e.fifos.forget()
	go func() { // ends a write that nobody reads
		<-e.ended
		w.Close()
	}()
	in := &failure{Reader: stdin}
	_, _ = io.CopyBuffer(struct{ io.Writer }{w}, in, make([]byte, streamBuffer))
	if in.err != nil {
		return fmt.Errorf("reading stdin: %w", in.err)
	}
	w.Close()
	_, _ = e.shard.tasks().CloseIO(ctx, &tasks.CloseIORequest{ContainerID: e.shard.id, ExecID: e.id, Stdin: true})
	return nil
}

// failure keeps a reader's error apart from a writer's.
type failure struct {
	io.Reader
	err error
}

func (f *failure) Read(p []byte) (int, error) {
	n, err := f.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		f.err = err
	}
	return n, err
}

// drain waits until what the process wrote has been delivered. Its streams end with it, unless a child
// holds them: then, once nothing moves any more, deleting the exec ends them. The shim waits another two
// seconds for its own copies before it does.
func (e *execution) drain(ctx context.Context, copied chan error) {
	before := e.moved()
	for {
		select {
		case err := <-copied:
			copied <- err
			return
		case <-time.After(idle):
		}
		now := e.moved()
		if now == before && !e.writing() {
			e.forget(ctx)
			return
		}
		before = now
	}
}

func (e *execution) moved() (n int64) {
	for _, o := range e.fifos.outputs {
		n += o.moved.Load()
	}
	return n
}

func (e *execution) writing() bool {
	return slices.ContainsFunc(e.fifos.outputs, func(o *output) bool { return o.moved.Load()%2 == 1 })
}

// kill makes sure that the process itself has ended, when all of its kind were killed for cause.
func (e *execution) kill(ctx context.Context, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), killTimeout)
	defer cancel()
	_, _ = e.shard.tasks().Kill(ctx, &tasks.KillRequest{ContainerID: e.shard.id, ExecID: e.id, Signal: sigkill})
	select {
	case <-e.ended:
		return cause
	case <-ctx.Done():
		return fmt.Errorf("%w (and its process still runs in shard %.12s)", cause, e.shard.id)
	}
}

// forget deletes the exec, if it has ended. With the shard's task it would go too.
func (e *execution) forget(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), forgetTimeout)
	defer cancel()
	_, _ = e.shard.tasks().DeleteProcess(ctx, &tasks.DeleteProcessRequest{ContainerID: e.shard.id, ExecID: e.id})
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
