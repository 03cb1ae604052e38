package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/berth-run/berth/backends/containerd"
	"github.com/berth-run/berth/backends/podman"
	"github.com/berth-run/berth/internal/eval"
)

const (
	// together is how many shards a soak has side by side.
	together = 20
	// soakParts is how often it looks, each way.
	soakParts = 5
	// calm is how long an engine may take to end what belongs to shards that were removed.
	calm = 30 * time.Second
)

// soakPodman and soakContainerd have as many trivial shards as there are runs, one after the other and then
// twenty at a time, and look at what this process and the engine hold, at each fifth of the way. What grows
// is an error.
func soakPodman(ctx context.Context, r *rig, n rounds, w io.Writer) error {
	storage, err := podmanStorage(ctx)
	if err != nil {
		return err
	}
	return soak(ctx, r, watched{process: "podman", monitor: "conmon", folders: storage}, n, w)
}

func soakContainerd(ctx context.Context, n rounds, w io.Writer) (err error) {
	h := newHalf()
	defer func() { err = errors.Join(err, h.close()) }()
	image, err := os.MkdirTemp("", "berth-soak-")
	if err != nil {
		return err
	}
	h.closes(func() error { return os.RemoveAll(image) })
	if err := exportTo(ctx, filepath.Join(image, imageOCI)); err != nil {
		return err
	}
	dir := filepath.Dir(os.Getenv(envState))
	d, _, err := startRootless(ctx)
	if err != nil {
		return err
	}
	h.closes(d.stop)
	r, err := h.onContainerd(ctx, containerd.Options{}, image)
	if err != nil {
		return err
	}
	return soak(ctx, r, watched{
		process: "containerd", monitor: "containerd-shim",
		folders: []string{filepath.Join(dir, "root"), filepath.Join(dir, "state"), "/run/containerd"},
	}, n, w)
}

// exportTo writes the image that the user's Podman has to a file.
func exportTo(ctx context.Context, name string) error {
	r, err := openRig(ctx)
	if err != nil {
		return err
	}
	f, err := os.Create(name)
	if err != nil {
		return errors.Join(err, r.close())
	}
	return errors.Join(r.engine.(*podman.Backend).ExportImage(ctx, eval.ImageName("codex"), f), f.Close(), r.close())
}

// soak takes the shards through their lives.
func soak(ctx context.Context, r *rig, e watched, n rounds, w io.Writer) error {
	fmt.Fprintf(w, "soak: %d shards each way, after %d to warm up\n", n.counted, n.warmup)
	printPlace(w, r.place())
	if err := lives(ctx, r, n.warmup, together); err != nil {
		return err
	}
	t := table{head: append([]string{"shards"}, heldHead...)}
	var failed []error
	for _, way := range []struct {
		name     string
		parallel int
	}{{"one at a time", 1}, {strconv.Itoa(together) + " at a time", together}} {
		var all []held
		for part := range soakParts {
			start := time.Now()
			if err := lives(ctx, r, n.counted/soakParts, way.parallel); err != nil {
				return err
			}
			took := time.Since(start)
			now, err := e.settled(ctx)
			if err != nil {
				return err
			}
			all = append(all, now)
			t.add(append([]string{fmt.Sprintf("%d, %s", (part+1)*n.counted/soakParts, way.name)}, now.cells()...)...)
			fmt.Fprintf(os.Stderr, "%s: %d of %d, these in %s: %v\n", way.name, (part+1)*n.counted/soakParts, n.counted, took.Round(time.Second), now.cells())
		}
		if err := grown(all, n.counted); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", way.name, err))
		}
	}
	t.print(w)
	return errors.Join(failed...)
}

// lives takes n shards from nothing to a command through their channel and away, parallel at a time.
func lives(ctx context.Context, r *rig, n, parallel int) error {
	errs := make([]error, n)
	sideBySide(n, parallel, func(i int) {
		if ctx.Err() == nil {
			errs[i] = trivialLife(ctx, r)
		}
	})
	return errors.Join(context.Cause(ctx), errors.Join(errs...))
}

func trivialLife(ctx context.Context, r *rig) error {
	o, err := r.open(ctx)
	if err != nil {
		return err
	}
	return errors.Join(o.command(ctx, trivial...), o.close(ctx))
}
