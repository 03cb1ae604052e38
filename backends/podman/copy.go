package podman

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"sync"

	"github.com/berth-run/berth/backends"
)

// CopyIn implements backends.Shard. Podman enters the running container's mount namespace and unpacks
// there, so a tmpfs is written to like anything else.
func (s *shard) CopyIn(ctx context.Context, dir string, tar io.Reader) error {
	if err := s.copyable(ctx, dir); err != nil {
		return err
	}
	// Podman would make a folder that isn't there.
	if err := s.archive(ctx, http.MethodHead, dir, nil, nil); err != nil {
		return err
	}
	body := &source{tar: tar}
	defer body.end()
	return s.archive(ctx, http.MethodPut, dir, body, nil)
}

// CopyOut implements backends.Shard. Podman answers 200 before it packs, so an error of its packing
// shows in nothing but a stream that is too short.
func (s *shard) CopyOut(ctx context.Context, path string, tar io.Writer) error {
	if err := s.copyable(ctx, path); err != nil {
		return err
	}
	return s.archive(ctx, http.MethodGet, path, nil, tar)
}

// copyable refuses a path that isn't one, and a container that doesn't run: Podman would take the
// image's own folder for the tmpfs that hides it later.
func (s *shard) copyable(ctx context.Context, name string) error {
	if !path.IsAbs(name) {
		return invalid("%.200q isn't an absolute path", name)
	}
	c, err := s.inspect(ctx)
	if err != nil {
		return err
	}
	if st := state(c.State.Status); st != backends.StateRunning {
		return fmt.Errorf("shard %.12s is %s, not running: %w", s.id, st, backends.ErrState)
	}
	return nil
}

// archive is one request to the archive endpoint. Without pause=false newer versions freeze the
// container meanwhile.
func (s *shard) archive(ctx context.Context, method, name string, in, out any) error {
	q := url.Values{"path": {name}, "pause": {"false"}}
	err := s.backend.api.do(ctx, method, route("/containers/%s/archive", s.id), q, in, out)
	if isNotFound(err) {
		return fmt.Errorf("shard %.12s: %.200s: %w: %w", s.id, name, backends.ErrNotFound, err)
	}
	return s.wrap(err)
}

// source is a request's body that its caller gets back: net/http may go on reading one after it has
// answered.
type source struct {
	mu    sync.Mutex
	tar   io.Reader
	ended bool
}

var errEnded = errors.New("the request has ended")

func (s *source) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return 0, errEnded
	}
	return s.tar.Read(p)
}

// WriteTo implements io.WriterTo, without which net/http would read 32 KiB at a time.
func (s *source) WriteTo(w io.Writer) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return 0, errEnded
	}
	if t, ok := s.tar.(io.WriterTo); ok {
		return t.WriteTo(w)
	}
	return io.CopyBuffer(struct{ io.Writer }{w}, s.tar, make([]byte, bulkBuffer))
}

// end waits for a read under way, and lets no other come.
func (s *source) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
}
