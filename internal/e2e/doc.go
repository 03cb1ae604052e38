// Package e2e holds the end-to-end tests: they use berth as a user does, as the built binary with a
// real rootless Podman, a real image and the real Codex in it. Only the model is a script. What a
// single package can prove is tested there; here is what needs all of them. Nothing imports it.
//
// What goes by the engine is in package engines.
package e2e
