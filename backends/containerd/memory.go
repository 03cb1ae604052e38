package containerd

import (
	"context"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/internal/capacity"
)

// Memory implements backends.Backend. The engine is on this machine; where it's outside of the container
// that berth is in, that one's limit isn't its shards'.
func (b *Backend) Memory(context.Context) (backends.Memory, error) {
	read := capacity.Local
	if isOutside(b.engine.socket()) {
		read = capacity.Whole
	}
	m, err := read()
	return backends.Memory{Total: m.Total, Free: m.Free}, err
}
