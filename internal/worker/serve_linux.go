package worker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/signal"

	"github.com/berth-run/berth/internal/channel"
	"golang.org/x/sys/unix"
)

// Seal keeps other processes of the same uid, the app under test above all, from reading this one's
// memory or tracing it: it holds every token that goes through. It can only act once the process
// runs; the image closes the moment before by giving nobody the right to read the binary, which
// makes the kernel seal it from its first instruction on.
func Seal() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("forbid others to read the worker's memory: %w", err)
	}
	return nil
}

// Serve is the shard's worker, PID 1's one child: it serves the control socket until the coordinator
// shuts it down, a signal does (both nil), or the dead man's switch (ErrSilent).
func Serve(ctx context.Context, o Options) error {
	if err := Seal(); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, unix.SIGTERM, unix.SIGINT, unix.SIGHUP)
	defer stop()
	w, err := New(o)
	if err != nil {
		return err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: channel.Socket, Net: "unix"})
	if err != nil {
		return errors.Join(fmt.Errorf("open the control socket: %w", err), w.Close())
	}
	defer context.AfterFunc(ctx, func() { w.end(errShutdown) })()
	go func() { _ = w.server.Serve(w.ctx, l, channel.TrustEngine) }() // it ends with ctx
	return w.Wait()
}
