package channel

import "errors"

// The closed set. What the other end said is wrapped around one of these.
var (
	// ErrInterrupted: the link was lost in the middle of an operation that must not be repeated
	// unasked. A command was killed; a Put left nothing; whatever Get wrote is incomplete.
	ErrInterrupted = errors.New("interrupted by a lost link")
	// ErrLost: the link couldn't be opened again in time; the text has the last cause.
	ErrLost = errors.New("link to the shard lost")
	// ErrGone is for an Opener to wrap: the shard has ended, so trying again is pointless.
	ErrGone = errors.New("the shard has ended")
	// ErrStale: another coordinator, or a newer link of this one, has taken the shard over.
	ErrStale = errors.New("another coordinator has taken the shard over")
	// ErrClosed: the Client or Server was closed.
	ErrClosed = errors.New("channel closed")
	// ErrProtocol: the other end broke the protocol, or is no berth-worker.
	ErrProtocol = errors.New("channel protocol violated")
	// ErrInvalid: a request that no shard would take (a folder that isn't the worker's, a bad name).
	ErrInvalid = errors.New("invalid request")
	// ErrFailed: the worker tried and couldn't.
	ErrFailed = errors.New("failed in the shard")
	// ErrUntrusted: a peer of the control socket that the engine didn't start.
	ErrUntrusted = errors.New("control socket refused a process that the engine didn't start")
)

// wireErrors are the errors that keep their identity on the way to the other end.
var wireErrors = map[string]error{
	"stale":    ErrStale,
	"protocol": ErrProtocol,
	"invalid":  ErrInvalid,
	"failed":   ErrFailed,
}
