//go:build !linux

package containerd

import "context"

func (b *Backend) endShims(string) (found bool, err error) { return false, nil }

func (b *Backend) endLostShims(context.Context) error { return nil }
