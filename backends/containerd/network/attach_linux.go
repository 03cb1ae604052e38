package network

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/containerd/go-cni"
	"golang.org/x/sys/unix"
)

// attach runs where the engine is. Who works with plugins holds no lock but its place's own.
func attach(ctx context.Context, id string, pid int) error {
	err := os.MkdirAll(cniDir, 0o711)
	if err == nil {
		err = unix.Access(cniDir, unix.W_OK)
	}
	if err != nil {
		return fmt.Errorf("the engine can't write to %s (%w): start rootlesskit with --copy-up=/var/lib, as containerd-rootless.sh does", cniDir, err)
	}
	p := place{id}
	err = locked(func() error {
		if _, err := clean(ctx); err != nil {
			return err
		}
		if err := configure(ctx); err != nil {
			return err
		}
		return p.make(pid)
	})
	if err == nil {
		err = p.plug(ctx)
	}
	if err == nil && !p.alive() { // whoever asked for it may have been killed, and the shard swept
		err = errors.New("the shard has ended")
	}
	if err != nil {
		return errors.Join(fmt.Errorf("joining a shard to it: %w", err), detach(ctx, id))
	}
	return nil
}

func (p place) plug(ctx context.Context) error {
	f, err := p.busy()
	if err != nil {
		return err
	}
	defer f.Close()
	c, err := load()
	if err != nil {
		return err
	}
	_, err = c.Setup(ctx, p.id, p.netns())
	return err
}

// detach runs where the engine is.
func detach(ctx context.Context, id string) error {
	p := place{id}
	var unplugged error
	if p.taken() {
		unplugged = p.unplug(ctx)
	}
	return locked(func() error {
		// Somebody else may have been in the middle of removing it, as nobody is here.
		if unplugged != nil && p.taken() {
			return unplugged
		}
		if err := p.remove(); err != nil {
			return err
		}
		if left, err := clean(ctx); err != nil || left > 0 {
			return err
		}
		return removeNetwork(ctx)
	})
}

// unplug has the plugins take away what they made. They may be asked twice.
func (p place) unplug(ctx context.Context) error {
	f, err := p.busy()
	if errors.Is(err, fs.ErrNotExist) {
		return nil // somebody else was faster, or its maker was killed before it was whole
	}
	if err != nil {
		return err
	}
	defer f.Close()
	c, err := load()
	if err == nil {
		err = c.Remove(ctx, p.id, p.kept())
	}
	if err != nil {
		return fmt.Errorf("taking a shard off it: %w", err)
	}
	unmask(ctx, p.id)
	return nil
}

// clean takes away what nobody lives to take away, and tells how many shards are left. What it can't is
// left for the next one. It's done under the lock.
func clean(ctx context.Context) (left int, err error) {
	all, err := places()
	for _, p := range all {
		if p.alive() || p.unplug(ctx) != nil || p.remove() != nil {
			left++
		}
	}
	return left, err
}

// load reads the network's configuration.
func load() (cni.CNI, error) {
	dir, err := pluginDir("/")
	if err != nil {
		return nil, err
	}
	c, err := cni.New(cni.WithMinNetworkCount(1), cni.WithPluginConfDir(confDir()), cni.WithPluginDir([]string{dir}), cni.WithInterfacePrefix("eth"))
	if err != nil {
		return nil, err
	}
	return c, c.Load(cni.WithDefaultConf)
}

// removeNetwork is the last thing done under the lock, whose file goes too. It leaves nothing of the
// network, but what isn't its own.
func removeNetwork(ctx context.Context) error {
	removeChains(ctx)
	return os.RemoveAll(folder())
}
