// Package engine runs the Codex binary for the clients whose engine it is: its version, its login by
// API key, its app server over JSON-RPC, and the probe that an app server must pass before a batch. It
// makes no folders and no config, sends no prompt and judges nothing.
package engine

// DefaultPath is where an image has the Codex binary.
const DefaultPath = "/opt/codex/bin/codex"
