package fake

import (
	"context"
	"fmt"
	"io"

	"github.com/berth-run/berth/backends"
)

// CopyIn implements backends.Shard: a fake shard has no files of its own.
func (s *shard) CopyIn(context.Context, string, io.Reader) error { return errNoFiles }

// CopyOut implements backends.Shard.
func (s *shard) CopyOut(context.Context, string, io.Writer) error { return errNoFiles }

var errNoFiles = fmt.Errorf("a fake shard has no files: %w", backends.ErrUnsupported)
