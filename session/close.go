package session

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/godbus/dbus/v5"
)

// Close ends every service with all that came of it, daemons that the buses started included, and
// removes the sockets. It fails with process.ErrLeft if some process wouldn't end.
func (s *Session) Close() error {
	s.over(ErrClosed)
	s.close.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), termGrace)
		defer cancel()
		s.left = s.endAll(ctx)
		for _, conn := range []*dbus.Conn{s.a11y, s.conn} {
			if conn != nil {
				conn.Close()
			}
		}
		s.removeFiles()
	})
	return s.left
}

// endAll asks all services at once: each takes those that need it with it anyway.
func (s *Session) endAll(ctx context.Context) error {
	errs := make([]error, len(s.order))
	var wg sync.WaitGroup
	for i, p := range s.order {
		if p.proc != nil {
			wg.Go(func() { errs[i] = p.proc.End(ctx) })
		}
	}
	wg.Wait()
	return errors.Join(errs...)
}

// removeFiles removes what killed services leave behind.
func (s *Session) removeFiles() {
	os.Remove(ReadyFile(s.cfg.RuntimeDir))
	os.Remove(s.cfg.runtime("bus"))
	os.RemoveAll(s.cfg.runtime("at-spi"))
	os.RemoveAll(s.cfg.runtime("keyring"))
	s.removeDisplay()
}

// removeDisplay removes a killed Xvfb's lock and socket, if they are ours: its number may be another
// process's by the time the next one reads the lock.
func (s *Session) removeDisplay() {
	p := s.parts["display"]
	if p == nil || p.proc == nil {
		return
	}
	lock := "/tmp/.X" + strconv.Itoa(s.cfg.Display) + "-lock"
	holder, err := os.ReadFile(lock)
	if err == nil && strings.TrimSpace(string(holder)) == strconv.Itoa(p.proc.PID()) {
		os.Remove(s.cfg.displaySocket())
		os.Remove(lock)
	}
}
