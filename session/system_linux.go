package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func supported() error { return nil }

// pfExiting is the kernel's flag of a task that has begun to end. It's set before the task's files are
// closed, so whoever died of such a closed connection finds the cause marked.
const pfExiting = 0x4

// dying tells whether a child has ended or has begun to. Its number can't be another's yet, since a
// child that was waited for has its Process's Done closed and counts as ended.
func dying(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return true
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 7 {
		return true
	}
	flags, err := strconv.ParseUint(fields[6], 10, 64)
	return fields[0] == "Z" || fields[0] == "X" || err == nil && flags&pfExiting != 0
}

// awaitSocket waits until process pid listens on the unix socket at path, whose folder is there.
func awaitSocket(ctx context.Context, path string, pid int) error {
	events, err := watchFolder(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer events.Close()
	defer context.AfterFunc(ctx, func() { events.Close() })()
	for {
		listener, err := listens(ctx, path)
		switch {
		case listener == pid:
			return nil
		case err == nil:
			// Somebody else's: pid won't get it, and will say so better than we could.
			<-ctx.Done()
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, fs.ErrNotExist):
			err = nextEvent(events)
		case errors.Is(err, syscall.ECONNREFUSED):
			// Bound and not yet listening, for which there is no event, or left by a dead server.
			err = nextMoment(ctx)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return fmt.Errorf("waiting for %s: %w", path, err)
		}
	}
}

// listens gives the process that listens there.
func listens(ctx context.Context, path string) (pid int, err error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *unix.Ucred
	var credErr error
	err = raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err = errors.Join(err, credErr); err != nil {
		return 0, err
	}
	return int(cred.Pid), nil
}

// watchFolder opens a stream of the folder's new entries. Its file is a poller's, so that closing it
// ends a read.
func watchFolder(dir string) (*os.File, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("inotify: %w", err)
	}
	events := os.NewFile(uintptr(fd), "inotify")
	if _, err := unix.InotifyAddWatch(fd, dir, unix.IN_CREATE|unix.IN_MOVED_TO); err != nil {
		events.Close()
		return nil, fmt.Errorf("watching %s: %w", dir, err)
	}
	return events, nil
}

// nextEvent waits for any entry; which one it was is seen by trying again.
func nextEvent(events *os.File) error {
	_, err := events.Read(make([]byte, unix.SizeofInotifyEvent+unix.NAME_MAX+1))
	return err
}

func nextMoment(ctx context.Context) error {
	select {
	case <-time.After(time.Millisecond):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
