//go:build !linux

package main

import (
	"context"

	"github.com/berth-run/berth/internal/worker"
)

func channelStdio(context.Context, []string) (int, error) { return 1, worker.ErrUnsupported }
