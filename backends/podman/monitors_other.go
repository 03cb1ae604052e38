//go:build !linux

package podman

import "context"

// No engine runs on this machine itself.

func reapMonitors(string) error { return nil }

// RemoveStale ends what a sweep finds of shards that are gone.
func (b *Backend) RemoveStale(context.Context) error { return nil }
