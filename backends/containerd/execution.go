package containerd

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/containerd/containerd/api/services/tasks/v1"
	"github.com/containerd/typeurl/v2"
	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/berth-run/berth/backends"
)

const (
	// forgetTimeout bounds the deletion of an exec that has ended.
	forgetTimeout = 10 * time.Second
	// idle is how long no output has come after the process's end before it's taken for held back by a
	// child that lives on.
	idle = 100 * time.Millisecond
)

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
	if err := backends.CopyStdin(w, stdin, streamBuffer); err != nil {
		return err
	}
	w.Close()
	_, _ = e.shard.tasks().CloseIO(ctx, &tasks.CloseIORequest{ContainerID: e.shard.id, ExecID: e.id, Stdin: true})
	return nil
}

// drain waits until what the process wrote has been delivered. Its streams end with it, unless a child
// holds them: then deleting the exec ends them, once nothing moves any more, or more has come than can
// have been under way when the process ended. The shim waits another two seconds for its own copies then.
func (e *execution) drain(ctx context.Context, copied chan error) {
	atEnd := e.moved()
	for before := atEnd; ; {
		select {
		case err := <-copied:
			copied <- err
			return
		case <-ctx.Done():
			return
		case <-time.After(idle):
		}
		now := e.moved()
		if now == before && !e.writing() || now-atEnd > underWay {
			e.forget(ctx)
			return
		}
		before = now
	}
}

// underWay is more than two outputs' pipes and the shim hold: 64 KiB in each pipe, 32 in the shim.
const underWay = 1 << 20

func (e *execution) moved() (n int64) {
	for _, o := range e.fifos.outputs {
		n += o.moved.Load()
	}
	return n
}

func (e *execution) writing() bool {
	return slices.ContainsFunc(e.fifos.outputs, func(o *output) bool { return o.writing.Load() })
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
