package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"

	"github.com/berth-run/berth/backends"
	"github.com/berth-run/berth/backends/podman"
	"github.com/berth-run/berth/internal/channel"
	"github.com/berth-run/berth/internal/eval"
	"github.com/berth-run/berth/internal/owner"
	"github.com/berth-run/berth/internal/runner"
	"github.com/berth-run/berth/oci"
)

// rig is the engine with the sample's image, reached as a run reaches it.
type rig struct {
	engine backends.Backend
	info   backends.Info
	image  backends.Image
	owner  owner.Identity
	made   atomic.Int64
	// environment is what `berth run` needs besides to find the engine.
	environment []string
}

func openRig(ctx context.Context) (*rig, error) {
	engine, err := podman.New(ctx, podman.Options{})
	if err != nil {
		return nil, err
	}
	r := &rig{engine: engine}
	if err := r.learn(ctx); err != nil {
		return nil, errors.Join(err, engine.Close())
	}
	return r, nil
}

func (r *rig) learn(ctx context.Context) (err error) {
	if r.info, err = r.engine.Info(ctx); err != nil {
		return err
	}
	if r.owner, err = owner.Self(); err != nil {
		return err
	}
	r.image, err = r.engine.Image(ctx, eval.ImageName("codex"))
	if errors.Is(err, backends.ErrNotFound) {
		err = fmt.Errorf("%w (`make image` builds it)", err)
	}
	return err
}

func (r *rig) close() error { return r.engine.Close() }

// name is a new container's.
func (r *rig) name() string {
	return fmt.Sprintf("berth-bench-%d-%d", r.owner.PID, r.made.Add(1))
}

// opened is a shard with an open channel, and how long its making took.
type opened struct {
	name                  string
	shard                 backends.Shard
	client                *channel.Client
	create, start, attach time.Duration
}

// open goes from nothing to an open channel, as a run does.
func (r *rig) open(ctx context.Context) (*opened, error) {
	return r.openWith(ctx, func(s backends.Shard) channel.Options {
		return channel.Options{Bulk: runner.BulkOf(ctx, r.engine, s)}
	})
}

// openLink is open without the engine's copy: files go over the link, whatever their size.
func (r *rig) openLink(ctx context.Context) (*opened, error) {
	return r.openWith(ctx, func(backends.Shard) channel.Options { return channel.Options{} })
}

func (r *rig) openWith(ctx context.Context, options func(backends.Shard) channel.Options) (*opened, error) {
	o := &opened{name: r.name()}
	var err error
	if o.create, err = timed(func() error { return r.create(ctx, o) }); err != nil {
		return nil, err
	}
	o.start, err = timed(func() error { return o.shard.Start(ctx) })
	if err == nil {
		o.attach, err = timed(func() (err error) {
			o.client, err = channel.Dial(ctx, runner.ChannelOpener(o.shard), options(o.shard))
			return err
		})
	}
	if err != nil {
		return nil, errors.Join(err, o.close(ctx))
	}
	return o, nil
}

// create makes a shard as a run does, with a run's defaults.
func (r *rig) create(ctx context.Context, o *opened) error {
	spec, err := oci.ShardSpec{}.Spec()
	if err != nil {
		return err
	}
	labels := owner.Shard{Run: "bench", Index: int(r.made.Load()), Created: time.Now(), Owner: r.owner}.Labels()
	o.shard, err = r.engine.Create(ctx, backends.Config{
		Name: o.name, Image: r.image.Ref, Spec: spec, Network: backends.NetworkNone, Labels: labels,
	})
	return err
}

// close takes the shard away, also when ctx has ended.
func (o *opened) close(ctx context.Context) error {
	if o.client != nil {
		o.client.Close()
	}
	return o.shard.Remove(context.WithoutCancel(ctx))
}

// command runs one through the channel.
func (o *opened) command(ctx context.Context, args ...string) error {
	res, err := o.client.Command(ctx, channel.Command{Args: args})
	return status(res.Code, err)
}

// exec runs one through the engine's API.
func (o *opened) exec(ctx context.Context, p backends.Process) error {
	st, err := o.shard.Exec(ctx, p)
	return status(st.Code, err)
}

func status(code int, err error) error {
	if err == nil && code != 0 {
		err = fmt.Errorf("exit status %d", code)
	}
	return err
}

// cli runs a podman command, what a user would type.
func cli(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, "podman", args...)
	var said strings.Builder
	cmd.Stderr = &said
	cmd.Stdout = io.Discard
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("podman %s: %w: %s", args[0], err, strings.TrimSpace(said.String()))
	}
	return nil
}
