// Package codex is the client `berth/client/codex`: the real Codex, driven through its app server, one
// process, one CODEX_HOME and one workspace for each trial. Prompts go in over JSON-RPC; what came of
// them is read from the rollout alone (package rollout), and a notification only says that there may
// be something to read.
//
// It needs no desktop. It doesn't start an inference gateway, renew a token or decide which servers a
// variant has: all of that comes with the batch.
package codex

import "github.com/berth-run/berth/session/client/engine"

// Name is the client's name in an eval config.
const Name = "berth/client/codex"

// Originator is the name by which berth is known to Codex, and that every rollout of ours carries.
const Originator = "berth_codex"

// DefaultPath is where an image has the Codex binary.
const DefaultPath = engine.DefaultPath
