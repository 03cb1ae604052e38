package codex

import (
	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/session/client/private"
)

// leastRoom is what Codex needs to begin with, several times over.
const leastRoom = 16 << 20

// roomy refuses to begin where an earlier trial has left no room.
func (s *session) roomy() error {
	if room := private.Room(s.dir); room < leastRoom {
		return code.Errorf(code.ShardFull, "%s has room for %d KiB: an earlier trial left the rest full", s.dir, room>>10)
	}
	return nil
}

// room says of a trial that came to no end, with no room left in its home, that this was why.
func (r *run) room(err error) error {
	ended := r.bound != nil && r.bound.Turn.Done()
	if err == nil || ended || code.Of(err) == code.Cancelled || code.Of(err) == code.ShardFull || !private.Full(r.s.dir) {
		return err
	}
	return code.Errorf(code.ShardFull, "%s has no room left: %w", r.s.dir, err)
}
