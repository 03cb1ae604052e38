package containerd

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/rand"
	"fmt"

	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/errdefs"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/berth-run/berth/backends"
)

// engineFiles are what other engines mount over an image's own in each container. Here they're a layer of
// the root file system, made once for all shards that have the same: nothing of the machine's is mounted.
type engineFiles struct {
	network string
	content map[string]string
}

func (b *Backend) engineFiles(c backends.Config) (engineFiles, error) {
	f := engineFiles{c.Network, map[string]string{
		"etc/hostname": c.Spec.Hostname + "\n",
		"etc/hosts":    fmt.Sprintf("127.0.0.1\tlocalhost\n127.0.0.1\t%s\n", c.Spec.Hostname),
	}}
	if c.Network == backends.NetworkNone {
		return f, nil
	}
	n := b.network()
	if err := n.Check(); err != nil {
		return f, err
	}
	resolv, err := n.Resolv()
	f.content["etc/resolv.conf"] = string(resolv)
	return f, err
}

// layer is the files as a layer, of the shard's root.
func (f engineFiles) layer(ids *idRange) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, name := range []string{"etc/hostname", "etc/hosts", "etc/resolv.conf"} {
		text, ok := f.content[name]
		if !ok {
			continue
		}
		h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(text))}
		if ids != nil {
			h.Uid, h.Gid = int(ids.UID), int(ids.GID)
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write([]byte(text)); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return out.Bytes(), err
}

// furnish gives the snapshot of an image's file system with the files in it, which it makes if it isn't
// there. What isn't done yet only the lease of ctx holds.
func (b *Backend) furnish(ctx context.Context, img image, rootfs string, f engineFiles) (string, error) {
	layer, err := f.layer(b.ids)
	if err != nil {
		return "", err
	}
	sum := digest.FromBytes(layer)
	name := rootfs + "+" + sum.Encoded()
	if _, err := b.SnapshotService(b.snapshotter).Stat(ctx, name); err == nil || !errdefs.IsNotFound(err) {
		return name, err
	}
	d := ocispec.Descriptor{MediaType: ocispec.MediaTypeImageLayer, Digest: sum, Size: int64(len(layer))}
	if err := content.WriteBlob(ctx, b.ContentStore(), "berth-files-"+rand.Text(), bytes.NewReader(layer), d); err != nil {
		return "", err
	}
	if err := b.commit(ctx, name, rootfs, d); err != nil {
		return "", fmt.Errorf("the shard's /etc/hosts and the like: %w", err)
	}
	return name, b.hold(ctx, img.config, name, "network-"+f.network)
}
