package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/berth-run/berth/backends"
)

// commandsEach is how many commands a run has: they take milliseconds.
const commandsEach = 5

// trivial is the command that does nothing.
var trivial = []string{"/bin/true"}

// benchChannel compares the channel with what Podman's CLI has for the same, in one and the same
// shard, and with an exec through its API, which is what carries a channel. Files go to the shard's
// home, a tmpfs, and come from there, each way. The channel has the engine copy large files; a second
// shard's has not, and shows what the link itself carries.
func benchChannel(ctx context.Context, r *rig, n rounds, w io.Writer) error {
	o, err := r.open(ctx)
	if err != nil {
		return err
	}
	link, err := r.openLink(ctx)
	if err != nil {
		return errors.Join(err, o.close(ctx))
	}
	return errors.Join(compareChannel(ctx, r, o, link, n, w), link.close(ctx), o.close(ctx))
}

func compareChannel(ctx context.Context, r *rig, o, link *opened, n rounds, w io.Writer) error {
	f, err := newFiles(ctx, o)
	if err != nil {
		return err
	}
	defer os.RemoveAll(f.host)
	l := &files{shard: link, host: f.host, sum: f.sum}
	if err := l.send(ctx, outDir); err != nil {
		return err
	}
	r.printHead(w, "channel", n)
	often := rounds{n.warmup, commandsEach * n.counted}
	commands, err := often.alternate(ctx, o.commands()...)
	if err != nil {
		return err
	}
	puts, err := n.alternate(ctx, way{"put", f.put}, way{"podman cp", f.copyIn}, way{"exec", f.execIn}, way{"link", l.put})
	if err != nil {
		return err
	}
	gets, err := n.alternate(ctx, way{"get", f.get}, way{"podman cp", f.copyOut}, way{"exec", f.execOut}, way{"link", l.get})
	if err != nil {
		return err
	}
	t := table{head: []string{"ms", "channel", "podman's CLI", "channel / CLI", "an exec by the API", "over the link alone"}}
	row := func(name string, s []sample) {
		link := "the same"
		if len(s) > 3 {
			link = s[3].spread()
		}
		t.add(name, s[0].spread(), s[1].spread(), fmt.Sprintf("%.3f", ratio(s[0], s[1])), s[2].spread(), link)
	}
	row(fmt.Sprintf("command, `podman exec` (%d each)", often.counted), commands)
	row("256 MiB in, `podman cp`, `cat >`", puts)
	row("256 MiB out, `podman cp`, `cat`", gets)
	t.print(w)
	fmt.Fprintf(w, "\nMiB/s: in %.0f, podman cp %.0f, exec %.0f, link %.0f; out %.0f, podman cp %.0f, exec %.0f, link %.0f\n",
		rate(puts[0]), rate(puts[1]), rate(puts[2]), rate(puts[3]), rate(gets[0]), rate(gets[1]), rate(gets[2]), rate(gets[3]))
	printRatios(w, verdict{"channel/podman-exec", ratio(commands[0], commands[1])},
		verdict{"put/podman-cp", ratio(puts[0], puts[1])}, verdict{"get/podman-cp", ratio(gets[0], gets[1])})
	return nil
}

// rate is MiB a second.
func rate(ms sample) float64 { return fileBytes / (1 << 20) / (ms.median() / 1000) }

// commands are three ways to run the same one.
func (o *opened) commands() []way {
	return []way{
		{"channel", func(ctx context.Context) (time.Duration, error) {
			return timed(func() error { return o.command(ctx, trivial...) })
		}},
		{"podman exec", func(ctx context.Context) (time.Duration, error) {
			return timed(func() error { return cli(ctx, append([]string{"exec", o.name}, trivial...)...) })
		}},
		{"exec by the API", func(ctx context.Context) (time.Duration, error) {
			return timed(func() error { return o.exec(ctx, backends.Process{Args: trivial}) })
		}},
	}
}
