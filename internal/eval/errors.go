package eval

import "errors"

// What this package fails with by itself; match with errors.Is.
var (
	// ErrRunner is a --runner that berth has no backend for.
	ErrRunner = errors.New("unknown runner")
	// ErrClient: the config's client has no shard to run in.
	ErrClient = errors.New("client not supported")
	// ErrImage: the engine lacks the image that the run needs; the text says how to get it.
	ErrImage = errors.New("image not ready")
	// ErrNoWorker: berth was installed without the binary that goes into images.
	ErrNoWorker = errors.New("no berth-worker")
	// ErrSecrets: --secrets-file can't be read. The text names a line, never its content.
	ErrSecrets = errors.New("secrets file")
	// ErrInterrupted: the first interrupt came while nothing ran yet that could be let end.
	ErrInterrupted = errors.New("interrupted before a shard was made")
	// ErrUnfinished: the shards are done and the run's folder couldn't be completed. The trials that
	// were saved stay, for --resume.
	ErrUnfinished = errors.New("the run's folder couldn't be completed")
)
