package worker

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/session"
)

// Desktop is a shard's desktop: brought up when it's first asked for, kept for what comes later,
// brought up anew when it has died, and closed with the Worker. A shard that asks for none has none.
type Desktop struct {
	config func() (session.Config, error)

	mu     sync.Mutex
	now    *session.Session // nil before the first, and when the last couldn't be brought up
	closed bool
	first  session.Timings
}

// NewDesktop makes a Desktop that will be where config says; nothing is started yet.
func NewDesktop(config func() (session.Config, error)) *Desktop { return &Desktop{config: config} }

// Session gives the running desktop. ctx bounds its start, not its life. An error has a code: of the
// service that was the cause, or environment_invalid.
func (d *Desktop) Session(ctx context.Context) (*session.Session, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, errShutdown
	}
	if d.now != nil && d.now.Err() == nil {
		return d.now, nil
	}
	if err := d.end(); err != nil {
		return nil, code.Errorf(code.SessionFailed, "what is left of a desktop that died: %w", err)
	}
	return d.start(ctx)
}

func (d *Desktop) start(ctx context.Context) (*session.Session, error) {
	cfg, err := d.config()
	if err != nil {
		return nil, code.Errorf(code.EnvironmentInvalid, "%w", err)
	}
	s, err := session.Start(ctx, cfg)
	switch {
	case errors.Is(err, session.ErrConfig):
		return nil, code.Errorf(code.EnvironmentInvalid, "%w", err)
	case err != nil:
		return nil, err
	}
	d.now = s
	if d.first == nil {
		d.first = s.Ready()
	}
	return s, nil
}

// end closes what there is. What couldn't be ended is said again by the next try.
func (d *Desktop) end() error {
	if d.now == nil {
		return nil
	}
	err := d.now.Close()
	if err == nil {
		d.now = nil
	}
	return err
}

// Close ends the desktop; none comes after it.
func (d *Desktop) Close() error {
	if d == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	return d.end()
}

// steps are the times of its first start in milliseconds: how long it took, and when each service was
// ready. Nil when there was none.
func (d *Desktop) steps() map[string]float64 {
	if d == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.first == nil {
		return nil
	}
	const name = "desktop"
	ms := map[string]float64{name: milliseconds(d.first.Total())}
	for _, s := range d.first {
		ms[name+"."+s.Name] = milliseconds(s.Ready)
	}
	return ms
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
