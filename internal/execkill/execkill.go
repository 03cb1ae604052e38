// Package execkill ends one exec in a shard: the process that was started with a mark in its
// environment, and everything that came of it. It runs inside the shard, by the worker, because
// engines have no call to end an exec. A process is found by the mark, by a parent that is found, or
// by the session that a found one leads; and by a second mark, which can't be shed, where whoever
// started the exec could Mark it. An engine's exec has no such: of one, a process that clears its
// environment, leaves the session and loses its parent isn't found any more. What an agent runs
// is the worker's to start, and has both. The shard's removal ends whatever is left.
package execkill

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"
)

// EnvVar is the variable that marks an exec's processes; its value is what Kill takes.
const EnvVar = "BERTH_EXEC_ID"

// minID keeps a short id from being somebody else's prefix or empty.
const minID = 16

const (
	// becoming is longer than a process takes to become another program, which on a busy machine waits for
	// the disk and for its turn. The kernel says of one that it is at that.
	becoming = 4 * time.Second
	// bare is longer than the end of that takes, in which a process looks like one that was given no
	// environment. One that was given none delays an end by this.
	bare = 250 * time.Millisecond
)

// ErrLeft: processes of the exec were still there when the time was over.
var ErrLeft = errors.New("processes of the exec are left")

// Kill sends SIGKILL to the processes of exec id until none is left, or until ctx ends (ErrLeft).
// Finding none is success. Sessions are those that the caller knows to be the exec's alone: what is in
// them is found without a mark, as a process may have been born before its parent was marked, and
// Chromium writes its title over its environment.
func Kill(ctx context.Context, id string, sessions ...int) error {
	if len(id) < minID {
		return fmt.Errorf("exec id %q is shorter than %d", id, minID)
	}
	s := scanner{proc: "/proc", id: id, self: os.Getpid(), sessions: map[int]bool{}}
	for _, session := range sessions {
		s.sessions[session] = true
	}
	var begun time.Time // with what is unclear, when nothing else is left
	for wait := time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		found, err := s.scan()
		if err != nil {
			return err
		}
		if begun.IsZero() || len(found) > 0 {
			begun = time.Now()
		}
		if len(found) == 0 && time.Since(begun) >= s.unclear {
			return nil
		}
		for _, pid := range found {
			// ESRCH and EPERM show in the next scan: gone, or left.
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		select {
		case <-ctx.Done():
			if len(found) == 0 {
				return nil
			}
			slices.Sort(found)
			return fmt.Errorf("%w: pids %v", ErrLeft, found)
		case <-time.After(wait):
		}
	}
}
