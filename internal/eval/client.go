package eval

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berth-run/berth/internal/evalconfig"
)

// The clients of images.
const (
	codexImage   = "codex"
	chatgptImage = "chatgpt"
)

// images names the image that each client runs in. One further down has all that the ones above have.
var images = []struct{ client, image string }{
	{evalconfig.ClientCodex, codexImage},
	{evalconfig.ClientChatGPT, chatgptImage},
}

// imageClient gives the image's client for all of an eval's variants. A case and all its variants
// share a shard, so they have to share an image too; it's the same when only some of them are picked.
func imageClient(e *evalconfig.Eval) (string, error) {
	most := -1
	for i := range e.All {
		v := &e.All[i]
		at := slices.IndexFunc(images, func(m struct{ client, image string }) bool { return m.client == v.Client })
		if at < 0 {
			return "", fmt.Errorf("%w: variant %q uses client %q; berth can run %s", ErrClient, v.Name, v.Client, clientNames())
		}
		most = max(most, at)
	}
	if most < 0 {
		return "", fmt.Errorf("%w: no variant to run", ErrClient)
	}
	return images[most].image, nil
}

func clientNames() string {
	var names []string
	for _, m := range images {
		names = append(names, m.client)
	}
	return strings.Join(names, ", ")
}
