package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/berth-run/berth/internal/channel"
	"github.com/berth-run/berth/internal/worker"
	"golang.org/x/sys/unix"
)

const (
	// connectWait is for a shard that has only just started.
	connectWait = 10 * time.Second
	connectTick = 2 * time.Millisecond
	// pipeBytes is what an unprivileged process may make a pipe hold.
	pipeBytes = 1 << 20
)

func channelStdio(_ context.Context, args []string) (int, error) {
	if err := parse(flag.NewFlagSet("channel", flag.ContinueOnError), args, 0); err != nil {
		return 1, err
	}
	if err := worker.Seal(); err != nil {
		return 1, err
	}
	conn, err := connect()
	if err != nil {
		return 1, err
	}
	for _, f := range []*os.File{os.Stdin, os.Stdout} {
		// Fewer turns for the same bytes; where it isn't a pipe, or not allowed, it works as it is.
		_, _ = unix.FcntlInt(f.Fd(), unix.F_SETPIPE_SZ, pipeBytes)
	}
	return 0, channel.HandOver(conn, os.Stdin, os.Stdout)
}

// connect waits for the worker to listen.
func connect() (*net.UnixConn, error) {
	deadline := time.Now().Add(connectWait)
	for {
		conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: channel.Socket, Net: "unix"})
		if err == nil {
			return conn, nil
		}
		if !errors.Is(err, unix.ECONNREFUSED) || time.Now().After(deadline) {
			return nil, fmt.Errorf("no worker listens in this shard: %w", err)
		}
		time.Sleep(connectTick)
	}
}
