package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/containerd/v2/core/images"
	"github.com/containerd/containerd/v2/core/snapshots"
	"github.com/containerd/errdefs"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/berth-run/berth/backends/containerd"
	"github.com/berth-run/berth/oci"
)

// ctrImage gives the image a second name without the one label that is too long for ctr, which puts all
// of them on a container. Layers, and so what is mounted, are the same.
func ctrImage(ctx context.Context, b *containerd.Backend, ref string) (string, error) {
	ctx, done, err := b.WithLease(ctx)
	if err != nil {
		return "", err
	}
	defer func() { _ = done(ctx) }()
	img, err := b.ImageService().Get(ctx, ref)
	if err != nil {
		return "", err
	}
	var m ocispec.Manifest
	if err := readBlob(ctx, b, img.Target, &m); err != nil {
		return "", err
	}
	var config map[string]any
	if err := readBlob(ctx, b, m.Config, &config); err != nil {
		return "", err
	}
	if c, ok := config["config"].(map[string]any); ok {
		if labels, ok := c["Labels"].(map[string]any); ok {
			delete(labels, oci.SeccompLabel)
		}
	}
	if m.Config, err = writeBlob(ctx, b, m.Config.MediaType, config, nil); err != nil {
		return "", err
	}
	held := map[string]string{"containerd.io/gc.ref.content.config": m.Config.Digest.String()}
	for i, l := range m.Layers {
		held[fmt.Sprintf("containerd.io/gc.ref.content.l.%d", i)] = l.Digest.String()
	}
	target, err := writeBlob(ctx, b, img.Target.MediaType, m, held)
	if err != nil {
		return "", err
	}
	name := ref + "-ctr"
	_, err = b.ImageService().Create(ctx, images.Image{Name: name, Target: target})
	return name, err
}

func readBlob(ctx context.Context, b *containerd.Backend, d ocispec.Descriptor, v any) error {
	text, err := content.ReadBlob(ctx, b.ContentStore(), d)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, v)
}

func writeBlob(ctx context.Context, b *containerd.Backend, mediaType string, v any, labels map[string]string) (ocispec.Descriptor, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	d := ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(text), Size: int64(len(text))}
	err = content.WriteBlob(ctx, b.ContentStore(), d.Digest.String(), bytes.NewReader(text), d, content.WithLabels(labels))
	if errdefs.IsAlreadyExists(err) {
		err = nil
	}
	return d, err
}

// holdRemapped has ctr shift the image's ids once, and keeps what comes of it, as berth does: left alone,
// containerd would collect it with the container, and ctr begin anew each time, all at once.
func holdRemapped(ctx context.Context, b *containerd.Backend, peer *cliBed) error {
	c, err := peer.up(ctx)
	if err != nil {
		return err
	}
	ids := strings.Split(peerIDs, ":")[1]
	sn := b.SnapshotService("")
	held := 0
	err = sn.Walk(ctx, func(ctx context.Context, i snapshots.Info) error {
		if !strings.HasSuffix(i.Name, "-"+ids+"-"+ids) {
			return nil
		}
		held++
		i.Labels = map[string]string{"containerd.io/gc.root": "bench"}
		_, err := sn.Update(ctx, i, "labels.containerd.io/gc.root")
		return err
	})
	if err == nil && held != 1 {
		err = fmt.Errorf("ctr has %d remapped snapshots of the image, not one", held)
	}
	return errors.Join(err, c.down(ctx))
}
