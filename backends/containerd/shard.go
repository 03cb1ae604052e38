package containerd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/containerd/containerd/api/services/tasks/v1"
	"github.com/containerd/containerd/api/types"
	"github.com/containerd/containerd/api/types/task"
	"github.com/containerd/containerd/v2/core/leases"
	"github.com/containerd/errdefs"
	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/berth-run/berth/backends"
)

// shard is one container; its state is the engine's.
type shard struct {
	backend  *Backend
	id       string
	instance string
	// process is PID 1's, which an exec's is made of.
	process *specs.Process
	// networked: it has, or had, the engine's network.
	networked bool
}

func (s *shard) ID() string { return s.id }

func (s *shard) tasks() tasks.TasksClient { return s.backend.TaskService() }

// there tells, as ErrNotFound, that the shard was removed.
func (s *shard) there(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	c, err := s.backend.ContainerService().Get(ctx, s.id)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx) // which the engine's client doesn't tell
	}
	if err == nil && c.Labels[labelInstance] != s.instance {
		err = errdefs.ErrNotFound
	}
	return s.wrap(err)
}

// running tells, as ErrState, that PID 1 doesn't run.
func (s *shard) running(ctx context.Context) error {
	if err := s.there(ctx); err != nil {
		return err
	}
	r, err := s.tasks().Get(ctx, &tasks.GetRequest{ContainerID: s.id})
	if err = native(err); err != nil && !errdefs.IsNotFound(err) {
		return explain(err)
	}
	if st := state(r.GetProcess().GetStatus()); st != backends.StateRunning {
		return fmt.Errorf("shard %.12s is %s, not running: %w", s.id, st, backends.ErrState)
	}
	return nil
}

// startTimeout bounds a start that its caller has given up: it's let finish, so that what it made can be
// removed.
const startTimeout = time.Minute

// Start implements backends.Shard. There is no task, in the engine's words, before it.
func (s *shard) Start(ctx context.Context) error {
	release, err := s.turn(ctx)
	if err != nil {
		return err
	}
	defer release()
	if err := s.there(ctx); err != nil {
		return err
	}
	own, cancel := context.WithTimeout(context.WithoutCancel(ctx), startTimeout)
	defer cancel()
	pid, err := s.createTask(own)
	if err != nil {
		return fmt.Errorf("starting: %w", s.wrap(err))
	}
	if err = s.attach(own, pid); err == nil {
		_, err = s.tasks().Start(own, &tasks.StartRequest{ContainerID: s.id})
		err = native(err)
	}
	if err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("starting: %w", errors.Join(explain(err), s.end(own)))
	}
	return nil
}

// createTask makes a task, in which nothing of the shard's runs yet, and gives its process.
func (s *shard) createTask(ctx context.Context) (pid int, err error) {
	b := s.backend
	mounts, err := b.SnapshotService(b.snapshotter).Mounts(ctx, s.id)
	if err != nil {
		return 0, err
	}
	r := &tasks.CreateTaskRequest{ContainerID: s.id}
	for _, m := range mounts {
		r.Rootfs = append(r.Rootfs, &types.Mount{Type: m.Type, Source: m.Source, Target: m.Target, Options: m.Options})
	}
	made, err := s.tasks().Create(ctx, r)
	return int(made.GetPid()), native(err)
}

// unstartedPoll is how often we look whether a created shard was started.
const unstartedPoll = 50 * time.Millisecond

// Wait implements backends.Shard.
func (s *shard) Wait(ctx context.Context) (backends.ExitStatus, error) {
	for {
		if err := s.there(ctx); err != nil {
			return backends.ExitStatus{}, err
		}
		r, err := s.tasks().Wait(ctx, &tasks.WaitRequest{ContainerID: s.id})
		switch err = native(err); {
		case err == nil:
			oom, err := s.oomKilled(ctx)
			return backends.ExitStatus{Code: int(r.ExitStatus), OOMKilled: oom}, err
		case ctx.Err() != nil:
			return backends.ExitStatus{}, context.Cause(ctx)
		case !errdefs.IsNotFound(err):
			if gone := s.there(ctx); gone != nil {
				return backends.ExitStatus{}, gone
			}
			return backends.ExitStatus{}, explain(err)
		}
		if err := sleep(ctx, unstartedPoll); err != nil {
			return backends.ExitStatus{}, err
		}
	}
}

// Remove implements backends.Shard.
func (s *shard) Remove(ctx context.Context) error {
	release, err := s.turn(ctx)
	if err != nil {
		return err
	}
	defer release()
	err = s.there(ctx)
	if errors.Is(err, backends.ErrNotFound) {
		var labels map[string]string
		if labels, err = s.backend.claimed(ctx, s.id); err == nil && labels[labelInstance] != s.instance {
			return nil
		}
	}
	if err == nil {
		err = s.remove(ctx)
	}
	if err != nil {
		return fmt.Errorf("shard %.12s is left on the engine: %w", s.id, err)
	}
	return nil
}

// remove takes the container away last: while it's there, the shard is listed. The end of the lease is
// waited for, and with it the engine's removal of what no longer is anybody's.
func (s *shard) remove(ctx context.Context) error {
	b := s.backend
	release := openFIFOs(b.engine, s.id)
	defer release()
	if err := s.end(ctx); err != nil {
		return err
	}
	if err := b.groups.release(ctx, s.id); err != nil {
		return err
	}
	if err := os.RemoveAll(fifoFolder(b.engine, s.id)); err != nil {
		return fmt.Errorf("removing FIFOs: %w", err)
	}
	if err := b.SnapshotService(b.snapshotter).Remove(ctx, s.id); ignore(err, errdefs.IsNotFound) != nil {
		return explain(err)
	}
	if err := b.LeasesService().Delete(ctx, leases.Lease{ID: s.id}, leases.SynchronousDelete); ignore(err, errdefs.IsNotFound) != nil {
		return explain(err)
	}
	return explain(ignore(b.ContainerService().Delete(ctx, s.id), errdefs.IsNotFound))
}

// end leaves nothing running, and no network.
func (s *shard) end(ctx context.Context) error {
	if err := s.endTask(ctx); err != nil {
		return err
	}
	return s.detach(ctx)
}

const (
	// endTries is how often a task is killed before it's given up, each time for endTimeout.
	endTries   = 3
	endTimeout = 10 * time.Second
	// shimPoll is how often we look for a task whose start is under way, for nobody any more.
	shimPoll = 10 * time.Millisecond
)

// endTask leaves nothing running: no task, no shim, nor what one listens at.
func (s *shard) endTask(ctx context.Context) error {
	if err := s.killTasks(ctx); err != nil {
		return err
	}
	return s.backend.engine.removeSocket(s.id)
}

// killTasks kills all that runs and deletes the task, if there is one or comes to be one.
func (s *shard) killTasks(ctx context.Context) error {
	late := time.After(endTries * endTimeout)
	for failures := 0; ; {
		err := s.killTask(ctx)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !errdefs.IsNotFound(err):
			if failures++; failures == endTries {
				return explain(err)
			}
			continue
		}
		if found, err := s.backend.endShims(s.id); err != nil || !found {
			return err
		}
		select {
		case <-time.After(shimPoll):
		case <-late:
			return errors.New("the engine has a shim of it, but no task")
		}
	}
}

func (s *shard) killTask(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, endTimeout)
	defer cancel()
	// With PID 1 goes its PID namespace. An error is one of what has ended already, or shows in what follows.
	_, _ = s.tasks().Kill(ctx, &tasks.KillRequest{ContainerID: s.id, Signal: sigkill})
	// A task whose process is gone is told of as one that isn't there, when a berth was killed that deleted it.
	if _, err := s.tasks().Wait(ctx, &tasks.WaitRequest{ContainerID: s.id}); err != nil && !errdefs.IsNotFound(native(err)) {
		return native(err)
	}
	_, err := s.tasks().Delete(ctx, &tasks.DeleteTaskRequest{ContainerID: s.id})
	return native(err)
}

const sigkill = 9

// Copies: containerd has no such call. Berth could only reach into the shard by itself, through its
// processes' /proc/PID/root: against an agent that swaps paths meanwhile, with ids that the machine's root
// hasn't got in there (a tmpfs refuses it), and not at all from within a container. Files go over the link,
// which is fast enough (docs/performance.md).

// CopyIn implements backends.Shard.
func (s *shard) CopyIn(context.Context, string, io.Reader) error { return errNoCopy }

// CopyOut implements backends.Shard.
func (s *shard) CopyOut(context.Context, string, io.Writer) error { return errNoCopy }

var errNoCopy = fmt.Errorf("%w: containerd copies no files", backends.ErrUnsupported)

// state maps a task's to the three of backends.
func state(s task.Status) string {
	switch s {
	case task.Status_RUNNING, task.Status_PAUSED, task.Status_PAUSING:
		return backends.StateRunning
	case task.Status_STOPPED:
		return backends.StateExited
	}
	return backends.StateCreated
}

// sleep waits for d or the end of ctx, whose cause it gives.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
