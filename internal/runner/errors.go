package runner

import (
	"context"
	"errors"
	"time"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/internal/capacity"
	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/shardproto"
)

var (
	// ErrOption is a --runner-option that berth doesn't know or can't take.
	ErrOption = errors.New("invalid runner option")
	// ErrLeft: a container couldn't be removed. The next run's sweep tries again.
	ErrLeft = errors.New("left on the engine")

	// errVisitCut ends a Visit when the user does.
	errVisitCut = &code.Error{Code: code.Cancelled, Detail: "interrupted"}

	// errShardEnded is the cause when PID 1 is seen to end before the run is done with the shard.
	errShardEnded = errors.New("the shard ended")
)

// verdict tells an error that stands whatever else ended meanwhile: it is no call that was cut short.
func verdict(err error) bool {
	switch code.Of(err) {
	case code.ProtectionMissing, code.LimitsNotEnforced, code.WorkerMismatch, code.ResultsNotSaved:
		return true
	}
	return false
}

// reason names why something failed under ctx: when that has ended, its cause says more than the
// call that was cut short by it. A cause without a code is the user's interrupt.
func reason(ctx context.Context, err error) error {
	switch cause := context.Cause(ctx); {
	case err == nil || verdict(err):
		return err
	case cause != nil && code.Of(cause) == "":
		return code.Errorf(code.Cancelled, "%w", cause)
	case cause != nil:
		return cause
	case code.Of(err) == "":
		return code.Errorf(code.ShardLost, "%w", err)
	}
	return err
}

// shardEnded is PID 1's end as a cause; deadman is what its dead man's switch waits, memory its limit in bytes.
func shardEnded(st backends.ExitStatus, deadman time.Duration, memory int64) error {
	switch {
	case st.OOMKilled:
		return code.Errorf(code.OOMKilled, "%w: its memory limit of %s was hit; raise it with --runner-option memory=", errShardEnded, capacity.Size(memory))
	case st.Code == shardproto.ExitSilent:
		return code.Errorf(code.ShardLost, "%w: its dead man's switch ended it: nothing was heard from berth for %s", errShardEnded, deadman)
	}
	return code.Errorf(code.ShardLost, "%w with status %d", errShardEnded, st.Code)
}

// broken is a worker that doesn't keep to mst.shard/v1, by mistake or because somebody else speaks
// in its place.
func broken(format string, args ...any) error {
	return code.Errorf(code.ShardLost, "the worker broke the protocol: "+format, args...)
}
