package session

import (
	"path/filepath"
	"time"

	"github.com/berth-run/berth/session/client/process"
)

// Limits of looking for a cause: how long a process that is on its way out may take, and how long a
// connection to a bus that's gone may take to say so.
const (
	exitGrace  = 2 * time.Second
	closeGrace = 200 * time.Millisecond
)

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
		case <-time.After(exitGrace):
		}
	}
	if p.over != nil {
		select {
		case <-p.over(s):
			return p.failed(ErrEnded, "its connection was closed")
		case <-time.After(closeGrace):
		}
	}
	return nil
}

func (s *Session) process(p *part) *process.Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return p.proc
}

func base(path string) string { return filepath.Base(path) }
