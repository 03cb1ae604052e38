package client

import (
	"runtime"

	"github.com/berth-run/berth/internal/code"
)

// RequireLinux refuses to run a client anywhere else than in a shard's system.
func RequireLinux(name string) error {
	if runtime.GOOS == "linux" {
		return nil
	}
	return code.Errorf(code.LinuxRequired, "%s runs in a Linux shard, not on %s", name, runtime.GOOS)
}
