package worker

import (
	"errors"
	"fmt"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// Init is a shard's PID 1: it starts args as its one child, passes signals on to it, reaps every
// orphan, and returns the child's exit status (128+n for a signal) when that ends. Returning ends
// the shard, and the kernel ends whatever else runs in it.
func Init(args []string) (int, error) {
	if err := Seal(); err != nil {
		return 1, err
	}
	signals := make(chan os.Signal, 128)
	signal.Notify(signals)
	child, err := os.StartProcess(args[0], args, &os.ProcAttr{
		Env: os.Environ(), Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
	})
	if err != nil {
		return 1, fmt.Errorf("start the worker: %w", err)
	}
	for {
		if status, ended := reap(child.Pid); ended {
			return status, nil
		}
		switch s := (<-signals).(unix.Signal); s {
		case unix.SIGCHLD, unix.SIGURG, unix.SIGPIPE: // ours: the first wakes the loop, the runtime uses the others
		default:
			// It may have ended just now; the next round finds out.
			_ = unix.Kill(child.Pid, s)
		}
	}
}

// reap waits for every child that has ended, without waiting for one to, and tells if pid was one.
func reap(pid int) (status int, ended bool) {
	for {
		var ws unix.WaitStatus
		got, err := unix.Wait4(-1, &ws, unix.WNOHANG, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || got <= 0 {
			return status, ended
		}
		if got != pid {
			continue
		}
		if ended = true; ws.Signaled() {
			status = 128 + int(ws.Signal())
		} else {
			status = ws.ExitStatus()
		}
	}
}
