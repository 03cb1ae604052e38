package worker

import "errors"

var (
	// ErrSilent: the dead man's switch; no coordinator was heard.
	ErrSilent = errors.New("no coordinator heard")
	// ErrUnsupported: shards are Linux.
	ErrUnsupported = errors.New("berth-worker runs inside a shard, on Linux")

	errShutdown = errors.New("shut down by the coordinator")
)
