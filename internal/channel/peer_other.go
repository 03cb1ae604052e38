//go:build !linux

package channel

import (
	"fmt"
	"net"
)

// TrustEngine refuses everybody: a control socket is only ever served in a shard, which is Linux.
func TrustEngine(*net.UnixConn) error { return fmt.Errorf("%w: needs Linux", ErrUntrusted) }
