package podman

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/berth-run/berth/backends"
)

// imageResponse is part of GET /images/{name}/json.
type imageResponse struct {
	ID          string            `json:"Id"`
	Labels      map[string]string `json:"Labels"`
	RepoTags    []string          `json:"RepoTags"`
	HealthCheck json.RawMessage   `json:"Healthcheck"`
}

// Image implements backends.Backend. Podman's image id is the config's digest.
func (b *Backend) Image(ctx context.Context, ref string) (backends.Image, error) {
	r, err := b.inspectImage(ctx, ref)
	if err != nil {
		return backends.Image{}, err
	}
	return backends.Image{Ref: ref, Digest: "sha256:" + r.ID, Labels: r.Labels}, nil
}

func (b *Backend) inspectImage(ctx context.Context, ref string) (imageResponse, error) {
	var r imageResponse
	if ref == "" {
		return r, invalid("an image reference is empty")
	}
	err := b.api.get(ctx, route("/images/%s/json", ref), nil, &r)
	if isNotFound(err) {
		return r, fmt.Errorf("image %s: %w", ref, backends.ErrNotFound)
	}
	r.ID = strings.TrimPrefix(r.ID, "sha256:")
	return r, err
}

// ImportImage implements backends.Backend. Podman takes the name from the layout's index, so that is
// rewritten on the way: the image has its name from the start, and no other.
func (b *Backend) ImportImage(ctx context.Context, ref string, layout io.Reader) (backends.Image, error) {
	before, err := b.inspectImage(ctx, ref)
	if err != nil && !errors.Is(err, backends.ErrNotFound) {
		return backends.Image{}, err
	}
	if err := b.load(ctx, ref, layout); err != nil {
		return backends.Image{}, fmt.Errorf("importing image %s: %w", ref, err)
	}
	img, err := b.Image(ctx, ref)
	if err == nil && before.ID != "" && "sha256:"+before.ID != img.Digest {
		// Best effort: it goes unless it has another name or a container.
		_ = b.api.delete(ctx, route("/images/%s", before.ID), nil, nil)
	}
	return img, err
}

func (b *Backend) load(ctx context.Context, ref string, layout io.Reader) error {
	pr, pw := io.Pipe()
	named := make(chan error, 1)
	docs := documents{}
	go func() {
		err := nameLayout(pw, layout, ref, docs)
		pw.CloseWithError(err)
		named <- err
	}()
	err := b.api.post(ctx, "/images/load", nil, io.Reader(pr), nil)
	// If Podman stopped reading, this ends the writer; else it's done already.
	_ = pr.CloseWithError(errStopped)
	if nerr := <-named; nerr != nil && !errors.Is(nerr, errStopped) {
		return nerr
	}
	var refused *apiError
	if errors.As(err, &refused) {
		b.dropLayers(ctx, docs)
		err = refused.ofArchive()
		if e := explain(err); errors.Is(e, backends.ErrUnavailable) {
			return e
		}
		return fmt.Errorf("%w: %w", backends.ErrInvalid, err)
	}
	return err
}

// ExportImage writes an image as a tar of an OCI image layout, for package image to build upon.
func (b *Backend) ExportImage(ctx context.Context, ref string, w io.Writer) error {
	err := b.api.get(ctx, route("/images/%s/get", ref), url.Values{"format": {"oci-archive"}}, w)
	if isNotFound(err) {
		return fmt.Errorf("image %s: %w", ref, backends.ErrNotFound)
	}
	return explain(err)
}

var errStopped = errors.New("podman stopped reading")

// RemoveImage implements backends.Backend.
func (b *Backend) RemoveImage(ctx context.Context, ref string) error {
	// Podman would take an id, or the start of one, for a name.
	if _, err := b.inspectImage(ctx, ref); err != nil {
		return err
	}
	err := b.api.delete(ctx, route("/images/%s", ref), url.Values{"force": {"false"}}, nil)
	switch {
	case isNotFound(err):
		return fmt.Errorf("image %s: %w", ref, backends.ErrNotFound)
	case statusOf(err) == http.StatusConflict:
		return fmt.Errorf("image %s: %w: %w", ref, backends.ErrState, err)
	}
	return explain(err)
}
