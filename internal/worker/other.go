//go:build !linux

package worker

import "context"

// Seal, Serve and Init need a shard.
func Seal() error                          { return ErrUnsupported }
func Serve(context.Context, Options) error { return ErrUnsupported }
func Init([]string) (int, error)           { return 1, ErrUnsupported }
