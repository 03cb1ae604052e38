package chatgpt

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"time"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/redact"
	"github.com/berth-run/berth/session/client"
	"github.com/berth-run/berth/session/client/chatgpt/driver"
	"github.com/berth-run/berth/session/client/codexconfig"
	"github.com/berth-run/berth/session/client/engine"
	"github.com/berth-run/berth/session/client/evidence"
	"github.com/berth-run/berth/session/client/process"
	"github.com/berth-run/berth/session/client/turn"
)

// batch is an opened batch: one profile, one app at a time. It implements client.Session.
type batch struct {
	client   *Client
	batch    client.Batch
	settings Settings
	own      *Limits // by a LimitsFile
	redact   *redact.Set
	id       string
	mark     string // of all that runs for the batch
	life     lifecycle

	profile   *profile
	desktop   desktop
	env       environment
	readiness client.Readiness
	app       *app            // nil while none runs
	prepared  driver.Receipt  // of the last Prepare
	handoffs  []evidence.Step // to the present app
	unready   evidence.Folder // what showed why the app, or the batch, didn't get ready
	said      []said          // by the trials so far
	sent      bool            // a prompt, to any app so far

	mu      sync.Mutex
	cases   int   // so far
	blocked error // why no more trial can be run
}

func newBatch(c *Client, b client.Batch, s Settings) *batch {
	for _, srv := range b.Servers {
		c.opts.Redact.Add(srv.Token)
	}
	engine.NoteToken(b.Inference, c.opts.Redact)
	return &batch{
		client: c, batch: b, settings: s, redact: c.opts.Redact,
		id: rand.Text(), mark: process.NewMark(), life: newLifecycle(),
		readiness: client.Readiness{Login: "not-run", Inference: b.Inference.Mode, MCPPreflight: []client.ServerStatus{}},
	}
}

// setUp goes from nothing to the composer.
func (s *batch) setUp(ctx context.Context) error {
	began := time.Now()
	err := s.life.step(StepDesktop, func() error { return s.enter(ctx) })
	if err == nil {
		err = s.ready(ctx)
	}
	if err == nil {
		err = s.bringUp(ctx)
	}
	s.life.setUp(time.Since(began), err)
	return err
}

// enter makes the profile on the desktop, and holds what the app will find against the contract.
func (s *batch) enter(ctx context.Context) (err error) {
	if s.desktop, err = s.client.desktop(ctx); err != nil {
		return err
	}
	if err := s.client.keyring.check(ctx, s.desktop.Bus()); err != nil {
		return err
	}
	// What an app has in the keyring belongs to its profile.
	if err := s.client.keyring.clear(ctx, s.desktop.Bus()); err != nil {
		return err
	}
	if s.profile, err = newProfile(s.client.opts.Home); err != nil {
		return err
	}
	if err := s.warm(); err != nil {
		return err
	}
	s.env = newEnvironment(s.profile, s.desktop.Env(), s.settings.Env)
	return s.env.check()
}

// bringUp starts the app and takes it to an empty composer. Where it fails the app is ended, and what
// showed why is kept.
func (s *batch) bringUp(ctx context.Context) error {
	s.prepared, s.handoffs = driver.Receipt{}, nil
	err := s.life.step(StepAppStart, func() error { return s.startApp(ctx) })
	if err == nil {
		err = s.life.step(StepPrepare, func() error { return s.prepare(ctx) })
	}
	if err == nil {
		return nil
	}
	s.unready = evidence.Folder{}
	s.keepUnready()
	return errors.Join(err, s.stopApp(ctx))
}

// startApp starts it on the desktop that there is now.
func (s *batch) startApp(ctx context.Context) (err error) {
	if s.desktop, err = s.client.desktop(ctx); err != nil {
		return err
	}
	s.env = newEnvironment(s.profile, s.desktop.Env(), s.settings.Env)
	s.app, err = start(ctx, launch{
		path: s.client.opts.AppPath, dir: s.profile.dir, mark: s.mark, desktop: s.desktop, redact: s.redact,
		env: s.env.withTokens(codexconfig.TokenEnv(s.batch.Servers)), limits: s.limits(),
	})
	if err != nil {
		return err
	}
	limits := s.limits().Driver
	if s.settings.Actions > 0 {
		limits.Actions = s.settings.Actions
	}
	s.app.window, err = s.client.window(ctx, driver.Options{
		Accessibility: s.env["AT_SPI_BUS_ADDRESS"], Display: s.env["DISPLAY"],
		Owns: s.app.process.Owns, Open: s.handOff, Limits: limits,
	})
	return s.app.because(ctx, err)
}

// prepare has the window taken to the composer, unless the app, the desktop or the keyring is lost on
// the way.
func (s *batch) prepare(ctx context.Context) error {
	within, cancel := s.app.with(ctx)
	defer cancel()
	within, unwatch := s.watchKeyring(within)
	defer unwatch()
	s.app.handed = false
	receipt, err := s.app.window.Prepare(within, s.settings.Surface)
	s.prepared = receipt
	return s.app.because(within, err)
}

// stopApp ends the app whole. If something of it is left, no other is started beside that.
func (s *batch) stopApp(ctx context.Context) error {
	if s.app == nil {
		return nil
	}
	err := s.app.end(ctx)
	s.app = nil
	if err != nil {
		s.block(err)
	}
	return err
}

// block keeps the first reason why nothing more can be run.
func (s *batch) block(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.blocked == nil {
		s.blocked = err
	}
}

// usable refuses a trial that has nothing to run on.
func (s *batch) usable() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.blocked == nil {
		return nil
	}
	return code.Errorf(code.AppUnavailable, "it wasn't tried: %w", s.blocked)
}

// Readiness is what Open proved.
func (s *batch) Readiness() client.Readiness { return s.readiness }

// Close ends the app, empties the keyring and removes the profile.
func (s *batch) Close(ctx context.Context) error {
	began := time.Now()
	err := s.dispose(ctx)
	s.life.cleanedUp(time.Since(began), err)
	return err
}

func (s *batch) dispose(ctx context.Context) error {
	err := s.stopApp(ctx)
	if s.desktop != nil && s.desktop.Err() == nil {
		err = errors.Join(err, s.client.keyring.clear(ctx, s.desktop.Bus()))
	}
	if s.profile != nil {
		err = errors.Join(err, s.profile.remove())
	}
	return err
}

// rules are what the variant asks of a turn.
func (s *batch) rules() turn.Rules {
	return turn.Rules{
		Model: s.batch.Model, Effort: s.settings.ReasoningEffort,
		Labels: codexconfig.Labels(s.batch.Servers), RequireMCPCalls: s.settings.RequireMCPCalls,
	}
}

// clean redacts an error and keeps its code.
func (s *batch) clean(err error) error {
	if c := code.Of(err); c != "" {
		return &code.Error{Code: c, Detail: code.Line(s.redact.String(code.Detail(err))), Err: err}
	}
	return s.redact.Error(err)
}
