//go:build !linux

package podman

import (
	"context"
	"errors"
)

// startService: Podman runs containers on Linux only; elsewhere it's reached through its machine.
func startService(context.Context) (*service, error) {
	return nil, errors.New("`podman system service` needs Linux")
}
