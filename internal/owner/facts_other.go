//go:build !linux && !darwin

package owner

import (
	"errors"
	"runtime"
)

var errPlatform = errors.New("shards can't be owned on " + runtime.GOOS + ": run berth on Linux or macOS")

func place() (Identity, error) { return Identity{}, errPlatform }

func startTime(int) (string, error) { return "", errPlatform }
