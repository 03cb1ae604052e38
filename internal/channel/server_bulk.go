package channel

import (
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"time"

	"github.com/berth-run/berth/internal/channel/archive"
)

// stage is put with the engine's help: it makes the folder that the engine is to unpack into, says
// where it is, and moves in what is there when the coordinator has said that it's complete.
func (s *Server) stage(dir string, stream io.ReadWriter) error {
	root, rel, err := s.folder(dir)
	if err != nil {
		return err
	}
	stage := stagePrefix + rand.Text()
	if err := root.Mkdir(stage, 0o700); err != nil {
		root.Close()
		return fmt.Errorf("%w: %w", ErrFailed, err)
	}
	base := strings.TrimSuffix(path.Clean(dir), "/"+rel)
	if err := adopt(root, stageReply{path.Join(base, stage)}, rel, stream); err != nil {
		_ = root.RemoveAll(stage)
		go s.clear(root, stage)
		return err
	}
	_ = root.RemoveAll(stage) // in a tmpfs, which goes with the shard
	return root.Close()
}

func adopt(root *os.Root, at stageReply, rel string, stream io.ReadWriter) error {
	if err := writeReply(stream, at, nil); err != nil {
		return err
	}
	if k, _, err := readHead(stream); err != nil {
		return unexpected(err)
	} else if k != kindEnd {
		return fmt.Errorf("%w: frame %q in the place of an end", ErrProtocol, byte(k))
	}
	if err := moveAll(root, path.Base(at.Dir), rel); err != nil {
		return fmt.Errorf("%w: %w", ErrFailed, err)
	}
	return nil
}

const (
	clearFor   = 10 * time.Second
	clearEvery = 500 * time.Millisecond
)

// clear removes a folder again and again for a while: an engine that was called off may still be
// unpacking, and makes it anew.
func (s *Server) clear(root *os.Root, dir string) {
	defer root.Close()
	for range clearFor / clearEvery {
		select {
		case <-time.After(clearEvery):
		case <-s.ctx.Done():
			return
		}
		_ = root.RemoveAll(dir) // as above
	}
}

// measure looks at a file or folder for an engine that is to pack it.
func (s *Server) measure(name string) (archive.Measured, error) {
	root, rel, err := s.folder(name)
	if err != nil {
		return archive.Measured{}, err
	}
	defer root.Close()
	m, err := archive.Measure(root, rel)
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrFailed, err)
	}
	return m, err
}
