//go:build !linux

package selfcheck

import (
	"context"
	"runtime"
)

// Run fails: a shard is always Linux.
func Run(context.Context, Expect) Report {
	return Report{Protections: []Check{{Name: "linux", Want: "linux", Got: runtime.GOOS}}}
}

// OwnNamespaces gives none: this machine isn't the one that shards run on.
func OwnNamespaces() map[string]string { return nil }
