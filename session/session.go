package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/godbus/dbus/v5"
	"golang.org/x/sync/errgroup"
)

// termGrace is how long the services have to end by themselves before they are killed.
const termGrace = 2 * time.Second

// Session is a running desktop. It ends when one of its services does, or with Close.
type Session struct {
	cfg     Config
	started time.Time
	order   []*part
	parts   map[string]*part

	// What services hand to those that need them; written before they are ready.
	conn     *dbus.Conn // on the session bus
	a11yAddr string
	a11y     *dbus.Conn // on the accessibility bus

	mu   sync.Mutex // guards every part's proc until the session is up
	fail sync.Once
	err  error // why it's over; written before done is closed
	done chan struct{}

	close sync.Once
	left  error // what closing found
}

// Start brings a session up and returns when all of it is ready. ctx bounds the start only. An error
// is one of Config, ctx's own, or the *ServiceError of the service that was the cause; nothing of the
// session is left then.
func Start(ctx context.Context, cfg Config) (*Session, error) {
	cfg = cfg.withDefaults()
	if err := errors.Join(supported(), cfg.check()); err != nil {
		return nil, err
	}
	return start(ctx, cfg, desktop)
}

func start(ctx context.Context, cfg Config, services []service) (*Session, error) {
	s := &Session{cfg: cfg, started: time.Now(), parts: map[string]*part{}, done: make(chan struct{})}
	for _, sv := range services {
		p, err := newPart(sv)
		if err != nil {
			return nil, err
		}
		s.order = append(s.order, p)
		s.parts[sv.name] = p
	}
	if err := s.bringUp(ctx); err != nil {
		s.over(err)
		return nil, errors.Join(s.err, s.Close())
	}
	go func() {
		<-s.done
		s.Close() // the owner's Close gives the same error
	}()
	return s, nil
}

func (s *Session) bringUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.cfg.StartTimeout, ErrNotReady)
	defer cancel()
	group, gctx := errgroup.WithContext(ctx)
	go s.stopWhenOver(gctx, cancel)
	for _, p := range s.order {
		group.Go(func() error {
			err := p.bring(gctx, s)
			if err != nil && gctx.Err() == nil {
				s.over(s.cause(p, err))
			}
			if err == nil {
				s.watch(p)
			}
			return err
		})
	}
	err := group.Wait()
	switch {
	case s.isOver():
		return s.err
	case err == nil:
		return s.writeReady()
	case errors.Is(context.Cause(ctx), ErrNotReady):
		return s.late()
	default:
		return err
	}
}

func (s *Session) stopWhenOver(ctx context.Context, stop func()) {
	select {
	case <-s.done:
		stop()
	case <-ctx.Done():
	}
}

// late names the first service that had all it needed and still wasn't ready.
func (s *Session) late() error {
	for _, p := range s.order {
		if p.times.Ready == 0 {
			return p.failed(ErrNotReady, fmt.Sprintf("after %v", s.cfg.StartTimeout))
		}
	}
	return ErrNotReady
}

// watch says that the session is over when the service is lost.
func (s *Session) watch(p *part) {
	if p.proc != nil {
		go s.follow(p, p.proc.Done(), func() error { return p.ended() })
	}
	if p.conn != nil {
		go s.follow(p, p.conn(s).Context().Done(), func() error { return s.lost(p) })
	}
}

func (s *Session) follow(p *part, lost <-chan struct{}, why func() error) {
	select {
	case <-lost:
		if !s.isOver() {
			s.over(s.cause(p, why()))
		}
	case <-s.done:
	}
}

func (s *Session) isOver() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// over says once why the session is over.
func (s *Session) over(why error) {
	s.fail.Do(func() {
		s.err = why
		close(s.done)
	})
}

// Ready gives the time of each step from the start to ready.
func (s *Session) Ready() Timings {
	t := make(Timings, len(s.order))
	for i, p := range s.order {
		t[i] = p.times
	}
	return t
}

// Done is closed when the session is over.
func (s *Session) Done() <-chan struct{} { return s.done }

// Err is why the session is over: the *ServiceError of the service that was lost, or ErrClosed; nil
// while it runs.
func (s *Session) Err() error {
	if !s.isOver() {
		return nil
	}
	return s.err
}

// Env is what an app needs in its environment to be part of the session: display,
// buses, runtime directory and keyring, as NAME=value.
func (s *Session) Env() []string {
	return append(s.cfg.addresses(), "AT_SPI_BUS_ADDRESS="+s.a11yAddr)
}

// Bus is the session's connection to the session bus. It's shared: don't close it.
func (s *Session) Bus() *dbus.Conn { return s.conn }

// Accessibility is the session's connection to the accessibility bus. It's shared: don't close it.
func (s *Session) Accessibility() *dbus.Conn { return s.a11y }

// ReadyFile is where a session in runtimeDir writes its Timings, as JSON, when it's ready.
func ReadyFile(runtimeDir string) string { return filepath.Join(runtimeDir, "session", "ready") }

func (s *Session) writeReady() error {
	raw, err := json.Marshal(s.Ready())
	if err != nil {
		return err
	}
	path := ReadyFile(s.cfg.RuntimeDir)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", append(raw, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
