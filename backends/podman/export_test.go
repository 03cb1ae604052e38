package podman

import (
	"context"
	"net/url"
	"os"
)

// SetEditCreate lets a test change each create request on its way.
func SetEditCreate(b *Backend, edit func(*createRequest)) { b.editCreate = edit }

// CreateRequest is for those edits.
type CreateRequest = createRequest

// ServiceSocket is the socket of b's own service, "" without one.
func ServiceSocket(b *Backend) string {
	if b.service == nil {
		return ""
	}
	return b.service.socket
}

// Socket is where b's engine listens, on this machine.
func Socket(b *Backend) string { return b.api.conn.URI.Path }

// Retries is how often a stuck or locked request is sent again.
const Retries = retries

// RuntimeConfig is the config.json that a started shard's runtime was given.
func RuntimeConfig(ctx context.Context, b *Backend, id string) ([]byte, error) {
	var c struct {
		OCIConfigPath string `json:"OCIConfigPath"`
	}
	if err := b.api.get(ctx, route("/containers/%s/json", id), nil, &c); err != nil {
		return nil, err
	}
	return os.ReadFile(c.OCIConfigPath)
}

// RemoveOnly removes a container, and does nothing else of a shard's removal.
func RemoveOnly(ctx context.Context, b *Backend, id string) error {
	return b.api.delete(ctx, route("/containers/%s", id), url.Values{"force": {"true"}, "timeout": {"0"}, "v": {"true"}}, nil)
}
