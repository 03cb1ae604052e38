package withhold

import (
	"bufio"
	"io"
	"strings"

	"github.com/berth-run/berth/session/atspi"
	"github.com/berth-run/berth/session/client/chatgpt/driver"
	"github.com/berth-run/berth/session/client/evidence"
)

// tree keeps roles, states and places, and the names that are labels of the driver's table. Where there is no
// tree, the file says why, in berth's own words.
func tree(w io.Writer, r io.Reader) error {
	in := bufio.NewReader(r)
	if head, _ := in.Peek(len(evidence.NoTree)); string(head) == evidence.NoTree {
		_, err := io.Copy(w, in)
		return err
	}
	objects, err := atspi.ParseObjects(in)
	if err != nil {
		return err
	}
	for i, o := range objects {
		if !driver.IsLabel(o.Name) && strings.TrimSpace(o.Name) != "" {
			objects[i].Name = withheld(o.Name)
		}
	}
	return atspi.WriteObjects(w, objects)
}
