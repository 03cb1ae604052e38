package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/berth-run/berth/backends"
)

// bed is one way to have containers: an engine through berth, or by its command line.
type bed interface {
	// up goes from nothing to a container that has said that it's there.
	up(context.Context) (container, error)
}

// container is one of a bed's.
type container interface {
	// exec runs a command that does nothing, by the engine.
	exec(context.Context) error
	// command runs one the fastest way there is; nil where that is exec.
	command() func(context.Context) error
	down(context.Context) error
}

// Metrics of one container's life.
const (
	metricStart   = "start"
	metricExec    = "exec"
	metricCommand = "command"
	metricRemove  = "remove"
)

// times are milliseconds by metric.
type times map[string]sample

func (t times) add(metric string, do func() error) error {
	took, err := timed(do)
	t[metric] = append(t[metric], milliseconds(took))
	if err != nil {
		return fmt.Errorf("%s: %w", metric, err)
	}
	return nil
}

// life takes one container through it.
func life(ctx context.Context, b bed) (times, error) {
	t := times{}
	var c container
	if err := t.add(metricStart, func() (err error) { c, err = b.up(ctx); return err }); err != nil {
		return nil, err
	}
	if s, ok := c.(benchShard); ok {
		s.steps(t)
	}
	err := use(ctx, c, t)
	return t, errors.Join(err, t.add(metricRemove, func() error { return c.down(context.WithoutCancel(ctx)) }))
}

func use(ctx context.Context, c container, t times) error {
	for range execsEach {
		if err := t.add(metricExec, func() error { return c.exec(ctx) }); err != nil {
			return err
		}
	}
	command := c.command()
	if command == nil {
		return nil
	}
	for range commandsEach {
		if err := t.add(metricCommand, func() error { return command(ctx) }); err != nil {
			return err
		}
	}
	return nil
}

// execsEach is how many execs a container has: with a hundred milliseconds each, fewer than commands.
const execsEach = 2

// crowd brings n containers up, parallel at a time, and tells how long that took until all were there.
// They are removed outside the clock.
func crowd(ctx context.Context, b bed, n, parallel int) (times, error) {
	there := make([]container, n)
	errs := make([]error, n)
	t := times{}
	err := t.add(metricStart, func() error {
		sideBySide(n, parallel, func(i int) { there[i], errs[i] = b.up(ctx) })
		return errors.Join(errs...)
	})
	sideBySide(n, removesAtOnce, func(i int) {
		if errs[i] == nil {
			errs[i] = there[i].down(context.WithoutCancel(ctx))
		}
	})
	return t, errors.Join(err, errors.Join(errs...))
}

const removesAtOnce = 4

func sideBySide(n, parallel int, do func(int)) {
	var wg sync.WaitGroup
	places := make(chan struct{}, parallel)
	for i := range n {
		places <- struct{}{}
		wg.Go(func() {
			do(i)
			<-places
		})
	}
	wg.Wait()
}

// shardBed is berth: up to the open channel.
type shardBed struct{ *rig }

func (b shardBed) up(ctx context.Context) (container, error) {
	o, err := b.open(ctx)
	if err != nil {
		return nil, err
	}
	return benchShard{o}, nil
}

type benchShard struct{ *opened }

// Steps of a shard's start.
const (
	stepCreate  = "create"
	stepStart   = "started"
	stepChannel = "channel"
)

func (s benchShard) steps(t times) {
	for name, took := range map[string]time.Duration{stepCreate: s.create, stepStart: s.start, stepChannel: s.attach} {
		t[name] = append(t[name], milliseconds(took))
	}
}

func (s benchShard) exec(ctx context.Context) error {
	return s.opened.exec(ctx, backends.Process{Args: trivial})
}

func (s benchShard) command() func(context.Context) error {
	return func(ctx context.Context) error { return s.opened.command(ctx, trivial...) }
}

func (s benchShard) down(ctx context.Context) error { return s.close(ctx) }

// cliBed is an engine's command line.
type cliBed struct {
	*rig
	// prefix comes before each command: the program, where its engine is, and how to get there.
	prefix []string
	// run is attached: the container's first line comes out of it. The others follow the prefix too.
	run, execs func(name string) []string
	remove     func(name string) [][]string
	// ends: the command that runs a container removes it, once that has ended.
	ends bool
}

// ready is what PID 1 says before it's the worker.
const ready = "ready"

// announced is PID 1 of a peer's container: a shard's own, after a line that says it's there.
func announced(args []string) []string {
	return append([]string{"/bin/sh", "-c", "echo " + ready + `; exec "$@"`, "sh"}, args...)
}

func (b *cliBed) up(ctx context.Context) (container, error) {
	c := &cliContainer{bed: b, name: b.name()}
	line := b.line(b.run(c.name))
	c.cmd = exec.Command(line[0], line[1:]...)
	c.cmd.Stderr = &c.said
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	first, err := bufio.NewReader(out).ReadString('\n')
	if strings.TrimSpace(first) != ready {
		err = errors.Join(err, c.cmd.Wait())
		return nil, fmt.Errorf("%s: %q, %w: %s", strings.Join(b.prefix, " "), first, err, strings.TrimSpace(c.said.String()))
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return c, ctx.Err()
}

func (b *cliBed) line(args []string) []string {
	return append(b.prefix[:len(b.prefix):len(b.prefix)], args...)
}

// do runs one command to its end.
func (b *cliBed) do(ctx context.Context, args []string) error {
	line := b.line(args)
	out, err := exec.CommandContext(ctx, line[0], line[1:]...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(line, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

type cliContainer struct {
	bed  *cliBed
	name string
	cmd  *exec.Cmd
	said strings.Builder
}

func (c *cliContainer) exec(ctx context.Context) error { return c.bed.do(ctx, c.bed.execs(c.name)) }

func (c *cliContainer) command() func(context.Context) error { return nil }

// downWithin bounds the end of the command that ran a container.
const downWithin = 30 * time.Second

func (c *cliContainer) down(ctx context.Context) error {
	var err error
	for _, args := range c.bed.remove(c.name) {
		err = errors.Join(err, c.bed.do(ctx, args))
	}
	ended := make(chan struct{})
	go func() {
		_ = c.cmd.Wait() // it says that its container was killed
		close(ended)
	}()
	if !c.bed.ends {
		return err
	}
	select {
	case <-ended:
	case <-time.After(downWithin):
		err = errors.Join(err, fmt.Errorf("`%s` of %s doesn't end", c.cmd.Path, c.name), c.cmd.Process.Kill())
	}
	return err
}
