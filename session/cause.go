package session

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/berth-run/berth/session/client/process"
)

// lossLimit is how long a process that is on its way out may take, or a bus to answer: more than either
// needs, however busy the machine is.
const lossLimit = 30 * time.Second

// Whole tells whether nothing of the session is lost. It asks, rather than wait for the news: who has lost
// something to the session's end finds that end begun, and Done is closed soon.
func (s *Session) Whole() bool {
	return !s.isOver() && !slices.ContainsFunc(s.order, func(p *part) bool { return s.lost(p) != nil })
}

// cause gives the failure that is behind err, p's own: a service that dies takes those that need it
// with it, and one of these may be noticed first.
func (s *Session) cause(p *part, err error) error {
	for _, name := range p.needs {
		need := s.parts[name]
		if deeper := s.cause(need, s.lost(need)); deeper != nil {
			return deeper
		}
	}
	return err
}

// lost gives the failure of a part that was ready and is over, or about to be; nil when it's alive.
func (s *Session) lost(p *part) error {
	if proc := s.process(p); proc != nil && dying(proc.PID()) {
		select {
		case <-proc.Done():
			return p.ended()
		case <-time.After(lossLimit):
		}
	}
	if p.conn != nil && !answers(p.conn(s)) {
		return p.failed(ErrEnded, "its connection was closed")
	}
	return nil
}

// answers tells whether a connection's bus is there. One that takes its time is.
func answers(conn *dbus.Conn) bool {
	ctx, cancel := context.WithTimeout(context.Background(), lossLimit)
	defer cancel()
	err := conn.BusObject().CallWithContext(ctx, "org.freedesktop.DBus.Peer.Ping", 0).Err
	return err == nil || errors.Is(err, context.DeadlineExceeded)
}

func (s *Session) process(p *part) *process.Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return p.proc
}

func base(path string) string { return filepath.Base(path) }
