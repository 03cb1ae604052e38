// Package runner is the coordinator: it takes a planned run, brings its shards up on a backend,
// proves them, feeds them tokens and grants, takes each trial's result as soon as it is finished,
// and takes the shards down again, whatever happens. It knows no container engine (package
// backends), no app (package session/client) and no folder layout (package results).
//
// The path of one shard is shard.go, read top to bottom; what the worker says meanwhile is
// collect.go.
package runner
