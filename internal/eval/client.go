package eval

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berth-run/berth/internal/evalconfig"
)

// images names the image that each client runs in.
var images = map[string]string{evalconfig.ClientCodex: "codex"}

// imageClient gives the image's client for all of an eval's variants. A case and all its variants
// share a shard, so they have to share an image too.
func imageClient(e *evalconfig.Eval) (string, error) {
	var found []string
	for i := range e.Variants {
		name, ok := images[e.Variants[i].Client]
		if !ok {
			return "", fmt.Errorf("%w: variant %q uses client %q; berth can run %s", ErrClient, e.Variants[i].Name, e.Variants[i].Client, clientNames())
		}
		if !slices.Contains(found, name) {
			found = append(found, name)
		}
	}
	if len(found) != 1 {
		return "", fmt.Errorf("%w: the variants use clients of %d images in one run", ErrClient, len(found))
	}
	return found[0], nil
}

func clientNames() string {
	var names []string
	for n := range images {
		names = append(names, n)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
