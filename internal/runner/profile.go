package runner

import (
	"context"
	"io"
	"os"

	"github.com/berth-run/berth/internal/channel"
	"github.com/berth-run/berth/internal/channel/archive"
	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/shardproto"
	"github.com/berth-run/berth/oci"
)

// putProfile gives a shard the app state that its profiles are to begin with.
func (s *shard) putProfile(ctx context.Context, l channel.Shard) error {
	root, err := os.OpenRoot(s.Options.ProfileDir)
	if err != nil {
		return code.Errorf(code.HomeUnsafe, "profileDir: %w", err)
	}
	defer root.Close()
	return again(func() error {
		r, w := io.Pipe()
		defer r.Close()
		go func() { w.CloseWithError(archive.Pack(w, root, ".")) }()
		return l.Put(ctx, oci.Home+"/"+shardproto.WarmProfile, r)
	})
}
