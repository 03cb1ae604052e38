// Package archive packs folders into tar streams and unpacks tar streams that nobody vouches for: a
// shard's results come from a machine in which an app under test had its way, and the coordinator's
// files land beside that app. It handles plain files, folders and links that stay inside; it is no
// backup tool, so owners, times and special files aren't kept.
package archive

import (
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// Limits bound what Unpack takes. The zero value means Default.
type Limits struct {
	Bytes   int64
	Entries int
}

// Default is far above anything a run moves and far below what would fill a machine by mistake.
var Default = Limits{Bytes: 8 << 30, Entries: 200_000}

func (l Limits) orDefault() Limits {
	if l.Bytes <= 0 {
		l.Bytes = Default.Bytes
	}
	if l.Entries <= 0 {
		l.Entries = Default.Entries
	}
	return l
}

// copyBuffer is large because a tar stream of one big file is the case that takes time.
const copyBuffer = 1 << 20

// local cleans an entry's name and refuses one that leaves its folder.
func local(name string) (string, error) {
	clean := path.Clean(strings.TrimSuffix(name, "/"))
	if name == "" || strings.ContainsRune(name, 0) || !fs.ValidPath(clean) {
		return "", fmt.Errorf("%w: %.200q leaves its folder", ErrHostile, name)
	}
	return clean, nil
}

// localLink refuses a link at name whose target is outside the folder, by its text alone; os.Root
// refuses what only the file system can tell.
func localLink(name, target string) error {
	joined := path.Join(path.Dir(name), target)
	if target == "" || path.IsAbs(target) || !fs.ValidPath(joined) {
		return fmt.Errorf("%w: link %.200q leads outside", ErrHostile, name)
	}
	return nil
}
