package podman

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/berth-run/berth/backends"
)

// createTimeout bounds a create that its caller has given up: it's let finish, so that what it made
// can be found and removed.
const createTimeout = time.Minute

// Create implements backends.Backend.
func (b *Backend) Create(ctx context.Context, c backends.Config) (backends.Shard, error) {
	r, err := translate(c, limits{cgroup2: b.cgroup2, controllers: b.controllers})
	if err != nil {
		return nil, err
	}
	img, err := b.inspectImage(ctx, c.Image)
	if err != nil {
		return nil, err
	}
	if err := checkImage(img, c); err != nil {
		return nil, fmt.Errorf("image %s: %w", c.Image, err)
	}
	// By id: the name may be another's by now.
	r.Image = img.ID
	if b.editCreate != nil {
		b.editCreate(&r)
	}
	release, err := b.slot(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	id, err := b.create(ctx, r)
	if err != nil {
		return nil, createError(c.Name, err)
	}
	s := &shard{backend: b, id: id}
	if ctx.Err() != nil {
		rctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), createTimeout)
		defer cancel()
		if err := s.remove(rctx); err != nil {
			return nil, fmt.Errorf("shard %s was made after its caller had gone, and can't be removed: %w", c.Name, err)
		}
		return nil, context.Cause(ctx)
	}
	return s, nil
}

// create isn't cancelled half-way: a request that was sent may or may not have taken effect.
func (b *Backend) create(ctx context.Context, r createRequest) (string, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), createTimeout)
	defer cancel()
	var made struct {
		ID string `json:"Id"`
	}
	err := b.api.post(ctx, "/containers/create", nil, r, &made)
	if err == nil && made.ID == "" {
		err = fmt.Errorf("podman made a container without an id")
	}
	return made.ID, err
}

// checkImage refuses what an image could smuggle in.
func checkImage(img imageResponse, c backends.Config) error {
	if h := bytes.TrimSpace(img.HealthCheck); len(h) > 0 && !bytes.Equal(h, []byte("null")) {
		return invalid("it has a health check, a command that Podman would run in the shard by itself")
	}
	return checkSeccomp(img.Labels, c.Spec.Linux.Seccomp)
}

func createError(name string, err error) error {
	if says(err, "is already in use") {
		return fmt.Errorf("shard %s: %w: %w", name, backends.ErrExists, err)
	}
	return fmt.Errorf("creating shard %s: %w", name, explain(err))
}
