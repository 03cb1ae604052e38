package podman

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/berth-run/berth/backends"
)

// shard is one container; its state is the engine's.
type shard struct {
	backend *Backend
	id      string
}

// container is part of GET /containers/{id}/json.
type container struct {
	ID    string `json:"Id"`
	State struct {
		Status    string `json:"Status"`
		ExitCode  int    `json:"ExitCode"`
		OOMKilled bool   `json:"OOMKilled"`
	} `json:"State"`
}

func (s *shard) ID() string { return s.id }

func (s *shard) inspect(ctx context.Context) (container, error) {
	var c container
	if s.id == "" {
		return c, invalid("a shard id is empty")
	}
	err := s.backend.api.get(ctx, route("/containers/%s/json", s.id), nil, &c)
	return c, s.wrap(err)
}

// wrap names the shard and finds the sentinel.
func (s *shard) wrap(err error) error {
	switch {
	case err == nil:
		return nil
	case isNotFound(err), says(err, "no such container"), says(err, "has been removed"), says(err, "has already been removed"):
		return fmt.Errorf("shard %.12s: %w: %w", s.id, backends.ErrNotFound, err)
	case statusOf(err) == http.StatusConflict, says(err, "container state improper"):
		return fmt.Errorf("shard %.12s: %w: %w", s.id, backends.ErrState, err)
	}
	return explain(err)
}

// Start implements backends.Shard.
func (s *shard) Start(ctx context.Context) error {
	release, err := s.backend.slot(ctx)
	if err != nil {
		return err
	}
	defer release()
	// Podman would start one that has exited again, and call a running one's start a success (304).
	c, err := s.inspect(ctx)
	if err != nil {
		return err
	}
	if st := state(c.State.Status); st != backends.StateCreated {
		return fmt.Errorf("shard %.12s is %s, not created: %w", s.id, st, backends.ErrState)
	}
	if err := s.backend.api.post(ctx, route("/containers/%s/start", s.id), nil, nil, nil); err != nil {
		return fmt.Errorf("starting: %w", s.wrap(err))
	}
	return nil
}

const (
	// waitInterval is how often Podman looks whether PID 1 has ended; at first it's told by the kernel.
	waitInterval = "250ms"
	// unstartedPoll is how often we look whether a created shard was started: Podman's wait on one
	// returns at once, with 0 (podman#25479).
	unstartedPoll = 50 * time.Millisecond
)

// Wait implements backends.Shard.
func (s *shard) Wait(ctx context.Context) (backends.ExitStatus, error) {
	for {
		err := s.backend.api.post(ctx, route("/containers/%s/wait", s.id), url.Values{
			"condition": {"exited", "stopped"}, "interval": {waitInterval},
		}, nil, nil)
		if err != nil && !says(err, "no such exit code") {
			return backends.ExitStatus{}, s.wrap(err)
		}
		c, err := s.inspect(ctx)
		if err != nil {
			return backends.ExitStatus{}, err
		}
		if c.State.Status == "exited" || c.State.Status == "stopped" {
			return backends.ExitStatus{Code: c.State.ExitCode, OOMKilled: c.State.OOMKilled}, nil
		}
		if err := sleep(ctx, unstartedPoll); err != nil {
			return backends.ExitStatus{}, err
		}
	}
}

// Remove implements backends.Shard.
func (s *shard) Remove(ctx context.Context) error {
	release, err := s.backend.slot(ctx)
	if err != nil {
		return err
	}
	defer release()
	return s.remove(ctx)
}

// reap ends the monitors of the shard's execs. Podman leaves one (conmon) waiting for five minutes
// after each exec, the container's removal notwithstanding (podman#7391); it can only be seen, and
// matters, on this machine.
func (s *shard) reap() error {
	if s.backend.info.Remote {
		return nil
	}
	return reapMonitors(s.id)
}

// remove kills and removes in one call. A container can be stuck "stopping" after whoever stopped it
// died (podman#16641); then a kill of its own and another try, with pauses, get it. What is left after
// the last of them is in the error.
func (s *shard) remove(ctx context.Context) error {
	q := url.Values{"force": {"true"}, "timeout": {"0"}, "v": {"true"}}
	wait := firstRetry
	for i := 0; ; i++ {
		err := s.backend.api.delete(ctx, route("/containers/%s", s.id), q, nil)
		if err == nil || isNotFound(err) {
			return s.reap()
		}
		if statusOf(err) == 0 && !hungUp(err) || isLocked(err) || i == retries {
			return fmt.Errorf("shard %.12s is left on the engine: %w", s.id, explain(err))
		}
		_ = s.backend.api.post(ctx, route("/containers/%s/kill", s.id), url.Values{"signal": {"SIGKILL"}}, nil, nil)
		if serr := sleep(ctx, wait); serr != nil {
			return fmt.Errorf("shard %.12s is left on the engine: %w: %w", s.id, serr, err)
		}
		wait = min(2*wait, lastRetry)
	}
}
