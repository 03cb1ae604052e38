//go:build !linux

package session

import "context"

func supported() error { return ErrUnsupported }

func dying(int) bool { return false }

func awaitSocket(context.Context, string, int) error { return ErrUnsupported }
