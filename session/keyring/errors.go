package keyring

import "github.com/berth-run/berth/internal/code"

// Causes, for errors.Is. An app that meets one of the first two sits on its splash for ever.
var (
	// ErrLocked: the login keyring is locked or not there, or a prompter is asking for a password.
	ErrLocked = &code.Error{Code: code.KeyringLocked}
	// ErrAbsent: no Secret Service is on the bus.
	ErrAbsent = &code.Error{Code: code.KeyringAbsent}
)
