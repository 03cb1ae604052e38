package eval

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/image"
	"github.com/berth-run/berth/internal/channel"
	"github.com/berth-run/berth/internal/channel/archive"
	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/evalconfig"
	"github.com/berth-run/berth/internal/owner"
	"github.com/berth-run/berth/internal/redact"
	"github.com/berth-run/berth/internal/results"
	"github.com/berth-run/berth/internal/runner"
	"github.com/berth-run/berth/oci"
	"github.com/berth-run/berth/session/client/chatgpt/driver"
)

// canaryLimit bounds an inspection in the shard: a desktop, an app, and a few labels that are waited for
// in vain.
const canaryLimit = 5 * time.Minute

// Canary is what `berth canary` found.
type Canary struct {
	// App and Version are the image's, as its Debian package has them; "" for an image without.
	App     string `json:"package,omitempty"`
	Version string `json:"version,omitempty"`
	Image   string `json:"image"`
	driver.Inspection
}

// Good tells whether all that was shown is as the driver knows it, and the composer was reached.
func (c *Canary) Good() bool { return c.Ready && len(c.Lost()) == 0 }

// Canary starts the app under test in a fresh shard with no way to a model, and sees what it still shows
// of what the driver knows. An error means that it didn't come to that.
// The app's state at the end is saved to a new folder, if save names one.
func (q Request) Canary(ctx context.Context, save string) (*Canary, error) {
	if q.Profile == runner.ProfileWarm {
		return nil, fmt.Errorf("%w: the canary is there to see first-run screens: leave profile=warm out", runner.ErrOption)
	}
	secrets := &redact.Set{}
	surface, err := canarySurface(q.Eval)
	if err != nil {
		return nil, err
	}
	var img backends.Image
	err = q.early(ctx, func(ctx context.Context) (err error) {
		info, err := q.Engine.Info(ctx)
		if err == nil {
			img, err = q.chosenImage(ctx, info.Arch, chatgptImage)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	self, err := owner.Self()
	if err != nil {
		return nil, err
	}
	id := results.NewRunID(time.Now())
	r := runner.Run{
		ID: id, Backend: q.Engine, Image: img.Ref, Spec: q.spec(), Network: backends.NetworkNone, Options: q.Options,
		Labels: func(int) map[string]string {
			return owner.Shard{Run: id, Created: time.Now(), Keep: q.Keep != runner.KeepNever, Owner: self}.Labels()
		},
		Progress: q.Progress, Secrets: secrets, Drain: q.Drain,
	}
	found := &Canary{App: img.Labels[image.LabelPackage], Version: img.Labels[image.LabelPackageVersion], Image: img.Ref}
	out := r.Visit(ctx, func(ctx context.Context, l channel.Shard) error {
		found.Inspection, err = inspect(ctx, l, surface)
		if err != nil || save == "" || !found.Ready {
			return err
		}
		return fetchState(ctx, l, save)
	})
	return found, also(out.Err, out.Left)
}

// inspect has the shard's worker binary do it, as a command of its own.
func inspect(ctx context.Context, l channel.Shard, surface driver.Surface) (found driver.Inspection, err error) {
	ctx, cancel := context.WithTimeout(ctx, canaryLimit)
	defer cancel()
	var out, said bytes.Buffer
	res, err := l.Command(ctx, channel.Command{
		Args: []string{oci.WorkerPath, "canary", "--save", stateInShard, string(surface)}, Stdout: &out, Stderr: &said,
	})
	switch {
	case err != nil:
		return found, err
	case res.Code != 0:
		return found, code.Errorf(code.AppUnavailable, "the app couldn't be inspected: %s", code.Line(said.String()))
	}
	if err := json.Unmarshal(out.Bytes(), &found); err != nil {
		return found, code.Errorf(code.WorkerMismatch, "what the shard found can't be read: %w", err)
	}
	return found, nil
}

// stateInShard is where the app's state is saved first.
const stateInShard = oci.Home + "/saved-profile"

// maxState bounds an app's state: it was in a shard's memory.
const maxState = oci.RunBytes

// fetchState brings the app's state into a new folder, which is there only when all of it is.
func fetchState(ctx context.Context, l channel.Shard, dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	r, w := io.Pipe()
	go func() { w.CloseWithError(l.Get(ctx, stateInShard, w)) }()
	err = archive.Unpack(root, r, archive.Limits{Bytes: maxState})
	r.CloseWithError(io.ErrClosedPipe)
	if err != nil {
		return also(fmt.Errorf("saving the app's state: %w", err), os.RemoveAll(dir))
	}
	return nil
}

// canarySurface is that of the first variant whose client is the app.
func canarySurface(e *evalconfig.Eval) (driver.Surface, error) {
	for i := range e.Variants {
		v := &e.Variants[i]
		if v.Client != evalconfig.ClientChatGPT {
			continue
		}
		o := struct{ Surface driver.Surface }{driver.Work}
		if err := json.Unmarshal(v.Options, &o); err != nil {
			return "", fmt.Errorf("variant %q: %w", v.Name, err)
		}
		return o.Surface, nil
	}
	return "", fmt.Errorf("%w: no variant uses client %q, and the canary is of that app", ErrClient, evalconfig.ClientChatGPT)
}
