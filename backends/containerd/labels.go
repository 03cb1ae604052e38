package containerd

import (
	"crypto/rand"
	"maps"
	"strings"

	"github.com/berth-run/berth/backends"
)

// Labels of our own on a container, beside its shard's. They aren't listed.
const (
	labelPrefix = "io.berth.containerd."
	labelName   = labelPrefix + "name"
	// labelInstance tells a shard from one of the same name that came before.
	labelInstance = labelPrefix + "instance"
	labelDigest   = labelPrefix + "image"
	labelNetwork  = labelPrefix + "network"
	// labelEmpty has the keys, a space between them, of labels without a value: the engine drops those.
	labelEmpty = labelPrefix + "empty"
	// labelExpire is the engine's, on a lease.
	labelExpire = "containerd.io/gc.expire"
)

func makeLabels(c backends.Config, img image) map[string]string {
	labels := map[string]string{labelName: c.Name, labelInstance: rand.Text(), labelDigest: img.config.String(), labelNetwork: c.Network}
	var empty []string
	for k, v := range c.Labels {
		if v == "" {
			empty = append(empty, k)
		}
	}
	if len(empty) > 0 {
		labels[labelEmpty] = strings.Join(empty, " ")
	}
	maps.Copy(labels, c.Labels)
	return labels
}

// shardLabels are those that the shard was created with.
func shardLabels(labels map[string]string) map[string]string {
	own := map[string]string{}
	for k, v := range labels {
		if !strings.HasPrefix(k, labelPrefix) && k != labelExpire {
			own[k] = v
		}
	}
	for _, k := range strings.Fields(labels[labelEmpty]) {
		own[k] = ""
	}
	return own
}
