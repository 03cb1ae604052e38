package containerd

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/berth-run/berth/backends"
)

// oldest is the first containerd that is known to work.
var oldest = semver.MustParse("1.6.0")

// runtimeName is the runtime that every shard has.
const runtimeName = "io.containerd.runc.v2"

// learn asks the engine about itself and refuses one that can't carry shards.
func (b *Backend) learn(ctx context.Context) error {
	v, err := b.Version(ctx)
	if err != nil {
		return explain(err)
	}
	if err := checkVersion(v.Version); err != nil {
		return err
	}
	if b.snapshotter, err = b.findSnapshotter(ctx); err != nil {
		return err
	}
	pid, err := peer(b.engine.socket())
	if err != nil {
		return explain(err)
	}
	b.groups = machine{root: "/", uid: os.Geteuid(), engine: int(pid)}.grouping(b.engine.rootless)
	if !b.engine.rootless {
		if b.ids, err = hostRange(); err != nil {
			return err
		}
	}
	b.info = backends.Info{
		Name:         "containerd",
		Version:      v.Version,
		Runtime:      runtimeName,
		Rootless:     b.engine.rootless,
		OS:           "linux",
		Arch:         runtime.GOARCH, // a socket is this machine's
		CPUs:         runtime.NumCPU(),
		Controllers:  b.groups.controllers,
		Capabilities: b.groups.capabilities(),
		Warnings:     b.warnings(),
	}
	b.info.NoNetwork = b.network().Lacks()
	b.info.Capabilities.NetworkEngine = b.info.NoNetwork == ""
	return nil
}

// checkVersion reads "1.6.20~ds1", "v2.1.4" and the like; what it can't read may be a development build.
func checkVersion(text string) error {
	core, _, _ := strings.Cut(strings.TrimPrefix(text, "v"), "~")
	v, err := semver.ParseTolerant(core)
	if err == nil && v.LT(oldest) {
		return fmt.Errorf("%w: containerd %s is older than %s: use a newer one", backends.ErrUnsupported, text, oldest)
	}
	return nil
}

// Snapshotters, in the order of preference.
const (
	overlayfs = "overlayfs"
	copying   = "native"
)

func (b *Backend) findSnapshotter(ctx context.Context) (string, error) {
	r, err := b.IntrospectionService().Plugins(ctx, `type==io.containerd.snapshotter.v1`)
	if err != nil {
		return "", fmt.Errorf("asking for snapshotters: %w", explain(native(err)))
	}
	for _, want := range []string{overlayfs, copying} {
		for _, p := range r.Plugins {
			if p.ID == want && p.InitErr == nil {
				return want, nil
			}
		}
	}
	return "", fmt.Errorf("%w: it has neither the overlayfs nor the native snapshotter", backends.ErrUnsupported)
}

func (b *Backend) warnings() []string {
	var w []string
	if b.snapshotter == copying {
		w = append(w, "containerd's overlayfs snapshotter doesn't work on this machine, so the whole image is copied for each shard: `ctr plugins ls -d id==overlayfs` says why")
	}
	missing := b.groups.missing()
	switch {
	case b.groups.parent == "":
		w = append(w, "no limit of a shard will be in force, since this containerd may make no cgroups: it may when this user's systemd runs it (`systemctl --user start containerd`)")
	case len(missing) > 0:
		w = append(w, fmt.Sprintf("limits that won't be in force, since the engine has no such cgroup controllers: %s", strings.Join(missing, ", ")))
	}
	return w
}

// wanted are the controllers that a shard's limits need.
var wanted = []string{"memory", "pids", "cpu"}

func (l limits) has(controller string) bool { return slices.Contains(l.controllers, controller) }

func (l limits) missing() []string {
	return slices.DeleteFunc(slices.Clone(wanted), l.has)
}

func (l limits) capabilities() backends.Capabilities {
	return backends.Capabilities{
		MemoryLimit: l.has("memory"),
		PidsLimit:   l.has("pids"),
		CPUWeight:   l.has("cpu"),
		Isolation:   true,
	}
}
