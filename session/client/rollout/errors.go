package rollout

import "errors"

// The package's errors, to be matched with errors.Is.
var (
	// ErrTooManyFiles: more than MaxFiles records below a Codex home.
	ErrTooManyFiles = errors.New("too many rollouts")
	// ErrTooLarge: a record above MaxSize.
	ErrTooLarge = errors.New("rollout too large")
	// ErrUnsafeFile: a record that isn't a regular file of this user with a single link.
	ErrUnsafeFile = errors.New("rollout is not a plain file of this user")
	// ErrReplaced: a record that shrank or became another file while it was followed.
	ErrReplaced = errors.New("rollout was replaced while it was read")
	// ErrMalformed: a line that is no record, and no truncated write that was repeated.
	ErrMalformed = errors.New("malformed rollout")
	// ErrMeta: the session's own description of itself is malformed. It's an ErrMalformed, too.
	ErrMeta = errors.New("malformed session metadata")
	// ErrAmbiguous: more than one turn could be the prompt's.
	ErrAmbiguous = errors.New("several turns match the prompt")
)
