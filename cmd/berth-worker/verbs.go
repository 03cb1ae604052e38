package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/berth-run/berth/internal/code"
	"github.com/berth-run/berth/internal/execkill"
	"github.com/berth-run/berth/internal/redact"
	"github.com/berth-run/berth/internal/selfcheck"
	"github.com/berth-run/berth/internal/worker"
	"github.com/berth-run/berth/session"
	"github.com/berth-run/berth/session/client"
	"github.com/berth-run/berth/session/client/chatgpt"
	"github.com/berth-run/berth/session/client/chatgpt/driver"
	"github.com/berth-run/berth/session/client/codex"
)

// imageEnv is in an image's environment: what the hello message calls the image.
const imageEnv = "BERTH_IMAGE"

// times are what a shard is told when it's made.
type times struct{ deadman, heartbeat time.Duration }

const (
	defaultDeadman   = 10 * time.Minute
	defaultHeartbeat = 15 * time.Second
)

func parseTimes(verb string, args []string) (t times, err error) {
	f := flag.NewFlagSet(verb, flag.ContinueOnError)
	f.DurationVar(&t.deadman, "deadman", defaultDeadman, "")
	f.DurationVar(&t.heartbeat, "heartbeat", defaultHeartbeat, "")
	if err := parse(f, args, 0); err != nil {
		return t, err
	}
	switch {
	case t.deadman <= 0:
		return t, fmt.Errorf("%w: --deadman %s isn't positive; a shard without the switch is made by keeping it", errUsage, t.deadman)
	case t.heartbeat <= 0:
		return t, fmt.Errorf("%w: --heartbeat %s isn't positive", errUsage, t.heartbeat)
	}
	return t, nil
}

func initShard(_ context.Context, args []string) (int, error) {
	t, err := parseTimes("init", args)
	if err != nil {
		return 1, err
	}
	self, err := os.Executable()
	if err != nil {
		return 1, err
	}
	return worker.Init([]string{self, "serve", "--deadman", t.deadman.String(), "--heartbeat", t.heartbeat.String()})
}

func serve(ctx context.Context, args []string) (int, error) {
	t, err := parseTimes("serve", args)
	if err != nil {
		return 1, err
	}
	secrets := &redact.Set{}
	desktop := worker.NewDesktop(func() (session.Config, error) { return session.FromEnv(os.Getenv) })
	return 0, worker.Serve(ctx, worker.Options{
		Clients: clients(secrets, desktop), Desktop: desktop, Redact: secrets, Image: os.Getenv(imageEnv),
		Deadman: t.deadman, Heartbeat: t.heartbeat,
	})
}

// canary inspects the app on a desktop of its own: the worker's is for trials, and there are none.
func canary(ctx context.Context, args []string) (int, error) {
	f := flag.NewFlagSet("canary", flag.ContinueOnError)
	save := f.String("save", "", "")
	if err := parse(f, args, 1); err != nil {
		return 1, err
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	desktop := worker.NewDesktop(func() (session.Config, error) { return session.FromEnv(os.Getenv) })
	app := chatgpt.New(chatgpt.Options{Desktop: desktop.Session})
	found, err := app.Inspect(ctx, driver.Surface(f.Arg(0)), *save)
	if err = errors.Join(err, desktop.Close()); err != nil {
		return 1, err
	}
	return 0, json.NewEncoder(os.Stdout).Encode(found)
}

// clients is every app that this worker can drive.
func clients(secrets *redact.Set, desktop *worker.Desktop) func(string) (client.Client, error) {
	apps := map[string]client.Client{
		codex.Name:   codex.New(codex.Setup{Redact: secrets}),
		chatgpt.Name: chatgpt.New(chatgpt.Options{Desktop: desktop.Session, Redact: secrets}),
	}
	return func(name string) (client.Client, error) {
		if app, ok := apps[name]; ok {
			return app, nil
		}
		return nil, code.Errorf(code.UnsupportedClient, "this image's worker can't drive client %q; it has %s", name, strings.Join(slices.Sorted(maps.Keys(apps)), " and "))
	}
}

// killWait bounds the chase after processes that fork while they are being killed.
const killWait = 10 * time.Second

func kill(ctx context.Context, args []string) (int, error) {
	f := flag.NewFlagSet("kill", flag.ContinueOnError)
	if err := parse(f, args, 1); err != nil {
		return 1, err
	}
	ctx, cancel := context.WithTimeout(ctx, killWait)
	defer cancel()
	return 0, execkill.Kill(ctx, f.Arg(0))
}

func selfCheck(ctx context.Context, args []string) (int, error) {
	if err := parse(flag.NewFlagSet("selfcheck", flag.ContinueOnError), args, 0); err != nil {
		return 1, err
	}
	var e selfcheck.Expect
	d := json.NewDecoder(os.Stdin)
	d.DisallowUnknownFields()
	if err := d.Decode(&e); err != nil {
		return 1, fmt.Errorf("%w: expectations on stdin: %w", errUsage, err)
	}
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", "  ")
	return 0, out.Encode(selfcheck.Run(ctx, e))
}
