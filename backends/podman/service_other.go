//go:build !linux

package podman

import (
	"context"
	"errors"
)

// startService: Podman runs containers on Linux only; elsewhere it's reached through its machine.
func startService(context.Context) (*service, error) {
	return nil, errService
}

var errService = errors.New("`podman system service` needs Linux")

func (s *service) spawn() (*child, error) { return nil, errService }

func (s *service) listening(context.Context) error { return nil }
