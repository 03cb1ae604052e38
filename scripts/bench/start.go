package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/berth-run/berth/oci"
)

// benchStart compares a shard, from nothing to an open channel, with Podman's CLI: with a container of
// the same image and hardening that only runs `true`, and with one that stays, with a first command
// in it. What is removed is removed outside the clock.
func benchStart(ctx context.Context, r *rig, n rounds, w io.Writer) error {
	spec, err := oci.ShardSpec{}.Spec()
	if err != nil {
		return err
	}
	var made []*opened
	shard := func(ctx context.Context) (time.Duration, error) {
		o, err := r.open(ctx)
		if err != nil {
			return 0, err
		}
		made = append(made, o)
		return o.create + o.start + o.attach, o.close(ctx)
	}
	flags := r.cliFlags(spec)
	run := func(ctx context.Context) (time.Duration, error) {
		return r.byCLI(ctx, func(name string) error { return cli(ctx, podmanRun(name, flags, r.image.Ref, trivial...)...) })
	}
	runExec := func(ctx context.Context) (time.Duration, error) {
		return r.byCLI(ctx, func(name string) error {
			detached := append([]string{"--detach"}, flags...)
			err := cli(ctx, podmanRun(name, detached, r.image.Ref, spec.Process.Args...)...)
			if err != nil {
				return err
			}
			return cli(ctx, append([]string{"exec", name}, trivial...)...)
		})
	}
	r.printHead(w, "start", n)
	s, err := n.alternate(ctx, way{"shard", shard}, way{"podman run", run}, way{"podman run, podman exec", runExec})
	if err != nil {
		return err
	}
	printStart(w, s, made[n.warmup:])
	return nil
}

func printStart(w io.Writer, s []sample, made []*opened) {
	step := func(of func(*opened) time.Duration) string {
		var s sample
		for _, o := range made {
			s = append(s, milliseconds(of(o)))
		}
		return s.spread()
	}
	against := func(peer sample) string { return fmt.Sprintf("%.2f", ratio(s[0], peer)) }
	t := table{head: []string{"", "ms", "shard / this"}}
	t.add("shard, from create to channel open", s[0].spread(), "")
	t.add("- create", step(func(o *opened) time.Duration { return o.create }), "")
	t.add("- start", step(func(o *opened) time.Duration { return o.start }), "")
	t.add("- channel", step(func(o *opened) time.Duration { return o.attach }), "")
	t.add("`podman run IMAGE true`", s[1].spread(), against(s[1]))
	t.add("`podman run -d IMAGE`, `podman exec true`", s[2].spread(), against(s[2]))
	t.print(w)
	printRatios(w, verdict{"start/podman-cli", ratio(s[0], s[1])})
}

// byCLI times what makes a container, and removes that.
func (r *rig) byCLI(ctx context.Context, do func(name string) error) (time.Duration, error) {
	name := r.name()
	took, err := timed(func() error { return do(name) })
	rm := cli(context.WithoutCancel(ctx), "rm", "--force", "--ignore", "--time=0", name)
	return took, errors.Join(err, rm)
}

// cliFlags say what a shard's spec says, as far as the CLI has a flag for it.
func (r *rig) cliFlags(s *specs.Spec) []string {
	flags := []string{
		"--network=none", "--cap-drop=all", "--security-opt=no-new-privileges", "--seccomp-policy=image",
		"--read-only", "--read-only-tmpfs=false", "--shm-size=" + strconv.Itoa(oci.ShmBytes), "--hostname=" + s.Hostname,
		fmt.Sprintf("--user=%d:%d", oci.UID, oci.GID), "--systemd=false", "--image-volume=ignore", "--log-driver=k8s-file",
		"--cgroupns=private", "--ulimit=core=0:0", "--entrypoint=", "--unsetenv-all", "--workdir=" + s.Process.Cwd,
	}
	for _, e := range s.Process.Env {
		flags = append(flags, "--env="+e)
	}
	for _, m := range s.Mounts {
		if m.Type == "tmpfs" && m.Destination != "/dev" && m.Destination != "/dev/shm" {
			flags = append(flags, tmpfsFlag(m))
		}
	}
	if r.info.Capabilities.MemoryLimit {
		limit := strconv.FormatInt(*s.Linux.Resources.Memory.Limit, 10)
		flags = append(flags, "--memory="+limit, "--memory-swap="+limit)
	}
	if r.info.Capabilities.PidsLimit {
		flags = append(flags, "--pids-limit="+strconv.FormatInt(*s.Linux.Resources.Pids.Limit, 10))
	}
	return flags
}

// tmpfsFlag is a mount as the CLI wants it; U gives it to the container's user.
func tmpfsFlag(m specs.Mount) string {
	flag := "--mount=type=tmpfs,U=true,destination=" + m.Destination
	for _, o := range m.Options {
		switch name, value, _ := strings.Cut(o, "="); name {
		case "mode", "size":
			flag += ",tmpfs-" + name + "=" + value
		}
	}
	return flag
}

// podmanRun is the command line; what runs replaces the image's entry point.
func podmanRun(name string, flags []string, image string, args ...string) []string {
	line := append([]string{"run", "--name=" + name}, flags...)
	return append(append(line, image), args...)
}
