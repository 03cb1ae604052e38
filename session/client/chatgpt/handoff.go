package chatgpt

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/session/client/process"
)

// handOff gives a draft to the running app, by a second start of the same binary with a link. That it
// exits with 0 says that the app has it, and nothing of when it will be on screen. It's done at most
// once for each Prepare and Submit.
func (s *batch) handOff(ctx context.Context, draft string) error {
	a := s.app
	if a == nil || a.alive.Err() != nil {
		return code.Errorf(code.AppNotRunning, "there is no app to hand the prompt to")
	}
	if a.handed {
		return code.Errorf(code.URLHandoffFailed, "the draft was handed off before; it isn't handed off twice")
	}
	link, err := newLink(s.profile.workspace, draft)
	if err != nil {
		return err
	}
	a.handed = true
	limit := s.limits().Handoff
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the second start hasn't ended after %v", limit))
	defer cancel()
	at := time.Now()
	exit, err := s.secondStart(ctx, link)
	s.handedOff(at, exitOf(exit, err), err)
	if err != nil {
		return code.Errorf(code.URLHandoffFailed, "%w", err)
	}
	if a.process.Exit() != "" {
		return code.Errorf(code.URLHandoffUnverified, "the app ended while the prompt was handed to it (%s)", a.process.Exit())
	}
	return nil
}

// secondStart runs the app with a link. It has a mark of its own: with it nothing of the app is ended.
func (s *batch) secondStart(ctx context.Context, link string) (exit string, err error) {
	p, err := process.Start(process.Spec{
		Path: s.client.opts.AppPath, Args: append(append([]string{}, flags...), link),
		Dir: s.profile.dir, Env: s.env.plain(), Joined: true,
	})
	if err != nil {
		return "", err
	}
	select {
	case <-p.Done():
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	err = errors.Join(err, p.End(ctx))
	if err == nil && p.Exit() != "exit status 0" {
		err = fmt.Errorf("the second start ended with %s%s", p.Exit(), lastWord(s.redact, p.Stderr()))
	}
	return p.Exit(), err
}
