package backends

import "errors"

// The closed set. An engine's own words are wrapped around one of these.
var (
	// ErrUnavailable: the engine can't be reached or can't work at all; the text says what to do.
	ErrUnavailable = errors.New("container engine unavailable")
	// ErrUnsupported: the engine is there and lacks what berth needs (too old, say).
	ErrUnsupported = errors.New("container engine unsupported")
	// ErrNotFound: no such image or shard.
	ErrNotFound = errors.New("not found")
	// ErrExists: the name is taken.
	ErrExists = errors.New("already exists")
	// ErrState: the shard's state doesn't allow the call.
	ErrState = errors.New("wrong state")
	// ErrInvalid: a Config, Process or image that no engine could take.
	ErrInvalid = errors.New("invalid")
)
